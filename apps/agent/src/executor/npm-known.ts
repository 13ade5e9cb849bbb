import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Lockfile } from '../ecosystems/npm/lockfile.ts';

const Document = Type.Object({
  packages: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
});

/** A version that npm may choose from, in the words of a package.json and of a registry. */
export interface KnownVersion {
  name: string;
  version: string;
  manifest: Record<string, unknown>;
  dist: { tarball: string; integrity: string };
}

/**
 * What a project has already, from its lockfile: npm resolves anew what a replaced package needed, and must find what
 * is to stay. Of these there is no file: to change one of them needs the approval of it.
 */
export function knownVersions({ entries }: Lockfile, text: string, registry: string): KnownVersion[] {
  const parsed = parseStrictJson(text);
  if (!parsed.ok || !Check(Document, parsed.value)) return [];
  const raw = new Map(Object.entries(parsed.value.packages));
  const known: KnownVersion[] = [];
  for (const { location, name, version, resolved, integrity, isLink, isBundled } of entries.values()) {
    const manifest = raw.get(location);
    if (isLink || isBundled || !version || !integrity || manifest === undefined) continue;
    // A lockfile may leave addresses out that can be told from name and version.
    const tarball = resolved ?? `${registry}${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`;
    known.push({ name, version, manifest: { ...manifest, name, version }, dist: { tarball, integrity } });
  }
  return known;
}
