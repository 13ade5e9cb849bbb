import type { Parsed } from './parse-transaction.ts';

export interface OfferedVersion {
  version: string;
  /** The indexes that offer it, as `apt-cache policy` writes them, without their priority. */
  indexes: string[];
  /** Percentage of hosts that are offered it so far; null when all are. */
  phasedPercent: number | null;
}

export interface PackagePolicy {
  /** Null when nothing is installed, or no version is available. */
  installed: string | null;
  candidate: string | null;
  /** Newest first. */
  versions: OfferedVersion[];
}

/** Where the packages of an index come from. */
export interface Origin {
  /** As `apt-get -s` writes it: `Debian-Security:12/oldstable-security`. */
  text: string;
  security: boolean;
}

/** Longest origin allowed by the schema, in characters. */
const ORIGIN_MAX_CHARS = 512;

const HEAD = /^(\S+):$/;
const FIELD = /^ {2}(Installed|Candidate): (\S+)$/;
const VERSION = /^ (?:\*\*\*| {3}) (\S+) -?\d+(?: \(phased (\d+)%\))?\s*$/;
const INDEX = /^ {6,9}-?\d+ (.+)$/;

/** Reads `apt-cache policy NAME…`; the keys are `name`, or `name:arch` where the architecture is a foreign one. */
export function parsePolicies(output: string): Parsed<Map<string, PackagePolicy>> {
  const policies = new Map<string, PackagePolicy>();
  let current: PackagePolicy | undefined;
  for (const line of output.split('\n')) {
    const head = HEAD.exec(line)?.[1];
    if (head !== undefined) {
      current = { installed: null, candidate: null, versions: [] };
      policies.set(head, current);
      continue;
    }
    if (line.trim() === '' || /^ {2}(?:Version table:|Package pin: .*)$/.test(line)) continue;
    const [, field, value = ''] = FIELD.exec(line) ?? [];
    const [, version, phased] = VERSION.exec(line) ?? [];
    const index = INDEX.exec(line)?.[1];
    if (current && field !== undefined) {
      const known = value === '(none)' ? null : value;
      if (field === 'Installed') current.installed = known;
      else current.candidate = known;
    } else if (current && version !== undefined) {
      current.versions.push({
        version,
        indexes: [],
        phasedPercent: phased === undefined ? null : Number(phased),
      });
    } else if (current?.versions.length && index !== undefined) {
      current.versions.at(-1)?.indexes.push(index);
    } else {
      return {
        ok: false,
        reason: `a line of the policy cannot be read: ${JSON.stringify(line.slice(0, 200))}`,
      };
    }
  }
  return { ok: true, value: policies };
}

/** Reads `apt-cache policy` without names: which archive each index belongs to. */
export function parseOrigins(output: string): Map<string, Origin> {
  const origins = new Map<string, Origin>();
  let index: string | undefined;
  let release: ReadonlyMap<string, string> = new Map();
  let site = '';
  for (const line of output.split('\n')) {
    if (line === 'Pinned packages:') break;
    const opened = /^ {0,3}-?\d+ (.+)$/.exec(line)?.[1];
    if (opened !== undefined) {
      // The installed state is an index of apt too, but not an archive.
      index = opened.endsWith(' Packages') ? opened : undefined;
      release = new Map();
      site = '';
    } else if (line.startsWith('     release ')) {
      release = readRelease(line.slice('     release '.length));
    } else if (line.startsWith('     origin ')) {
      site = line.slice('     origin '.length);
    }
    if (index !== undefined) origins.set(index, originOf(release, site));
  }
  return origins;
}

/** Names several archives as apt does, each once. */
export function describeOrigins(origins: readonly Origin[]): string {
  return [...new Set(origins.map(({ text }) => text))].join(', ').slice(0, ORIGIN_MAX_CHARS);
}

/** `v=12.15,o=Debian,l=Free text, with commas,…` */
function readRelease(described: string): ReadonlyMap<string, string> {
  return new Map(described.split(/,(?=[a-z]=)/).map((pair) => [pair.slice(0, 1), pair.slice(2)]));
}

/** Composes an origin as apt does: label, version and suite, or the site where there is no release file. */
function originOf(release: ReadonlyMap<string, string>, site: string): Origin {
  const label = release.get('l');
  const suite = release.get('a');
  const version = release.get('v');
  const place =
    suite === undefined ? site || 'localhost' : version === undefined ? suite : `${version}/${suite}`;
  const security =
    label === 'Debian-Security' || [suite, release.get('n')].some((name) => name?.endsWith('-security'));
  return { text: label === undefined ? place : `${label}:${place}`, security };
}
