import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Lockfile } from './lockfile.ts';

const Document = Type.Object({
  packages: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
});

/** A version that npm may choose, as in a packument. */
export interface KnownVersion {
  name: string;
  version: string;
  manifest: Record<string, unknown>;
  dist: { tarball: string; integrity: string };
}

/**
 * A project's installed versions, from its lockfile: npm resolves a replaced package's dependencies again and
 * must find those that stay. They have no files, so changing one requires its own approval.
 */
export function knownVersions({ entries }: Lockfile, text: string, registry: string): KnownVersion[] {
  const parsed = parseStrictJson(text);
  if (!parsed.ok || !Check(Document, parsed.value)) return [];
  const raw = new Map(Object.entries(parsed.value.packages));
  const known: KnownVersion[] = [];
  for (const { location, name, version, resolved, integrity, isLink, isBundled } of entries.values()) {
    const manifest = raw.get(location);
    if (isLink || isBundled || !version || !integrity || manifest === undefined) continue;
    // A lockfile may omit URLs that follow from name and version.
    const tarball = resolved ?? `${registry}${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`;
    known.push({ name, version, manifest: { ...manifest, name, version }, dist: { tarball, integrity } });
  }
  return known;
}
