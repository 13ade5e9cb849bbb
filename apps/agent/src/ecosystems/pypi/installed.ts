import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nullable } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { errorCode } from '../../platform/file-layer.ts';
import { normaliseName } from './names-rules.ts';
import { type CoreMetadata, parseMetadata } from './parse-metadata.ts';
import { readPlainFile } from './read-file.ts';

/** Including the description; the largest on the public index are about 300 kB. */
const METADATA_MAX_BYTES = 8 * 1024 * 1024;
const SMALL_FILE_MAX_BYTES = 1024 * 1024;
/** Maximum entries in a package folder; a large environment has about 3,000. */
const ENTRIES_MAX = 50_000;
const FAULTS_MAX = 20;

export interface Distribution extends CoreMetadata {
  /**
   * `index`: pip can replace it; `direct`: installed from a URL, a folder or a repository (PEP 610);
   * `old_format`: installed without the RECORD file that pip needs to uninstall it.
   */
  source: 'index' | 'direct' | 'old_format';
  /** Where a `direct` one came from, without credentials. */
  directUrl: string | null;
  /** Pinned with pipx. */
  pinned: boolean;
  /** Name of its folder or file of metadata. */
  entry: string;
}

/** A package folder: of a place or of the system. */
export interface PackageFolder {
  kind: 'environment' | 'user' | 'system';
  path: string;
  sitePackages: string;
}

export interface InstalledState {
  distributions: Distribution[];
  /** Why the listing may be incomplete; empty when it is complete. */
  faults: string[];
}

/** Reads the installed distributions from the files of a place: nothing is run, links are not followed. */
export async function readInstalled(place: PackageFolder): Promise<InstalledState> {
  let names: string[];
  try {
    names = (await readdir(place.sitePackages)).sort();
  } catch (error) {
    return { distributions: [], faults: [`${place.sitePackages} cannot be read (${errorCode(error)})`] };
  }
  if (names.length > ENTRIES_MAX) {
    return { distributions: [], faults: [`${place.sitePackages} has over ${ENTRIES_MAX} entries`] };
  }
  const faults: string[] = [];
  const pins = await readPins(place, faults);
  const found = new Map<string, Distribution>();
  for (const entry of names) {
    if (entry.startsWith('~')) {
      faults.push(`${join(place.sitePackages, entry)} is a leftover of an interrupted pip`);
      continue;
    }
    const read = await readDistribution(place.sitePackages, entry);
    if (read === null) continue;
    if (!read.ok) {
      faults.push(read.reason);
      continue;
    }
    const { value } = read;
    const before = found.get(value.name);
    // Debian ships some distributions in both formats; the first in this order has the requirements.
    if (place.kind === 'system' && before?.version === value.version) continue;
    if (before !== undefined) faults.push(`${place.path} has ${value.name} twice`);
    found.set(value.name, { ...value, pinned: pins.has(value.name) });
  }
  return { distributions: [...found.values()], faults: faults.slice(0, FAULTS_MAX) };
}

type OneRead = { ok: true; value: Distribution } | { ok: false; reason: string };

/** Null for an entry that is not a distribution. */
async function readDistribution(sitePackages: string, entry: string): Promise<OneRead | null> {
  const folder = join(sitePackages, entry);
  if (entry.endsWith('.dist-info')) {
    const read = await readCore(join(folder, 'METADATA'));
    if (!read.ok) return read;
    const direct = await readPlainFile(join(folder, 'direct_url.json'), SMALL_FILE_MAX_BYTES);
    if (!direct.ok && !direct.absent) return direct;
    const record = await readPlainFile(join(folder, 'RECORD'), METADATA_MAX_BYTES);
    const hasRecord = record.ok || !record.absent; // one that is too large exists nevertheless
    const source = direct.ok ? 'direct' : hasRecord ? 'index' : 'old_format';
    const directUrl = direct.ok ? describeDirect(direct.text) : null;
    return { ok: true, value: { ...read.value, source, directUrl, pinned: false, entry } };
  }
  if (!entry.endsWith('.egg-info')) return null;
  const inside = await readCore(join(folder, 'PKG-INFO'));
  const read = inside.ok ? inside : await readCore(folder);
  if (!read.ok) return read;
  return { ok: true, value: { ...read.value, source: 'old_format', directUrl: null, pinned: false, entry } };
}

async function readCore(
  path: string,
): Promise<{ ok: true; value: CoreMetadata } | { ok: false; reason: string }> {
  const read = await readPlainFile(path, METADATA_MAX_BYTES);
  if (!read.ok) return { ok: false, reason: read.reason };
  const parsed = parseMetadata(read.text);
  return parsed.ok ? parsed : { ok: false, reason: `${path} ${parsed.reason}` };
}

const DirectUrl = Type.Object({ url: Type.String({ maxLength: 4_096 }) });

function describeDirect(text: string): string {
  const parsed = parseStrictJson(text);
  if (!parsed.ok || !Check(DirectUrl, parsed.value)) return 'an unreadable address';
  if (!URL.canParse(parsed.value.url)) return 'an unreadable address';
  const url = new URL(parsed.value.url);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

const Pin = Type.Object({ package: nullable(Type.String()), pinned: Type.Boolean() });
const PipxMetadata = Type.Object({
  main_package: Type.Unknown(),
  injected_packages: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

/** Pins written by `pipx pin`; pip itself has none. */
async function readPins({ kind, path }: PackageFolder, faults: string[]): Promise<ReadonlySet<string>> {
  if (kind !== 'environment') return new Set();
  const file = join(path, 'pipx_metadata.json');
  const read = await readPlainFile(file, SMALL_FILE_MAX_BYTES);
  if (!read.ok) {
    if (!read.absent) faults.push(read.reason);
    return new Set();
  }
  const parsed = parseStrictJson(read.text);
  if (!parsed.ok || !Check(PipxMetadata, parsed.value)) {
    faults.push(`${file} cannot be read`);
    return new Set();
  }
  const { main_package: main, injected_packages: injected } = parsed.value;
  const packages = [main, ...Object.values(injected ?? {})].filter((value) => Check(Pin, value));
  return new Set(
    packages.flatMap((pin) => (pin.pinned && pin.package !== null ? [normaliseName(pin.package)] : [])),
  );
}
