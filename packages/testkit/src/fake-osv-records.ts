/** The part before `:` of an ecosystem; the real API validates no more of it than that. */
const KNOWN_ECOSYSTEMS = new Set([
  ...['AlmaLinux', 'Alpine', 'Azure Linux', 'Chainguard', 'Debian', 'Go', 'Linux', 'Mageia', 'Maven', 'npm'],
  ...[
    'NuGet',
    'openEuler',
    'openSUSE',
    'Packagist',
    'Photon OS',
    'PyPI',
    'Red Hat',
    'Rocky Linux',
    'RubyGems',
  ],
  ...['SUSE', 'Ubuntu', 'Wolfi', 'crates.io'],
]);
const SENTINEL_NAMES = new Set(['openssl', 'linux', 'kernel']);
const SENTINEL_VERSIONS = new Set(['0', '0-0', '0:0', '0:0-0']);
/** Below every version that a test has. */
const SENTINEL_FIXED = '0.0.0-0';
const SENTINEL_MODIFIED = '2020-01-01T00:00:00Z';

/** What the API says when its server ran out of time before the first page (Base64 of FIRST_PAGE_TOKEN). */
export const FIRST_PAGE_TOKEN = 'RklSU1RfUEFHRV9UT0tFTg==';

/** A record in the OSV schema; what is not given is filled in. */
export type OsvRecord = {
  readonly id: string;
  readonly modified?: string;
  readonly [field: string]: unknown;
};

/** Whom a record hits: the named versions, or every version. A bare ecosystem (`Debian`) hits all its releases. */
export type Affects = {
  ecosystem: string;
  name: string;
  versions?: readonly string[];
  all?: boolean;
  /** `ecosystem_specific`. */
  specific?: object;
};

export type FullRecord = OsvRecord & { readonly modified: string };

/** One query of the API after its shape was checked. */
export type OsvQuery = { ecosystem: string; name: string; version: string | null; offset: number };

type Entry = { record: FullRecord; affects: readonly Affects[] };

/** The records of the fake and the explicit table that says whom they hit. */
export type OsvRecords = {
  add(record: OsvRecord, affects: readonly Affects[]): FullRecord;
  withdraw(id: string, at: string): void;
  clear(): void;
  find(id: string): FullRecord | undefined;
  /** Every record, those that prove coverage too. */
  all(): FullRecord[];
  /** Every record that hits, in the order of their ids. */
  match(query: OsvQuery): FullRecord[];
};

/** Holds records in memory. In a `covered` ecosystem the sentinel (openssl or the kernel at version 0) always hits. */
export function createOsvRecords(covered: ReadonlySet<string>): OsvRecords {
  const entries = new Map<string, Entry>();

  function isSentinel({ ecosystem, name, version }: OsvQuery): boolean {
    return covered.has(ecosystem) && SENTINEL_NAMES.has(name) && SENTINEL_VERSIONS.has(version ?? '');
  }

  return {
    add: (record, affects) => {
      const full = {
        schema_version: '1.7.4',
        affected: affects.map(asAffected),
        modified: SENTINEL_MODIFIED,
        ...record,
      };
      entries.set(record.id, { record: full, affects });
      return full;
    },
    withdraw: (id, at) => {
      const entry = entries.get(id);
      if (entry === undefined) throw new RangeError(`no record ${id} to withdraw`);
      entries.set(id, { ...entry, record: { ...entry.record, withdrawn: at, modified: at } });
    },
    clear: () => entries.clear(),
    find: (id) =>
      entries.get(id)?.record ?? [...covered].map(sentinelOf).find((sentinel) => sentinel.id === id),
    all: () => [...[...entries.values()].map(({ record }) => record), ...[...covered].map(sentinelOf)],
    match: (query) => {
      const hits = [...entries.values()].filter((entry) => isHit(entry, query)).map((entry) => entry.record);
      if (isSentinel(query)) hits.push(sentinelOf(query.ecosystem));
      return hits.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}

/** Withdrawn records stay to be fetched by id but no longer hit. */
function isHit({ record, affects }: Entry, query: OsvQuery): boolean {
  return record.withdrawn === undefined && affects.some((affected) => isAffected(affected, query));
}

function isAffected(affected: Affects, { ecosystem, name, version }: OsvQuery): boolean {
  if (affected.ecosystem !== ecosystem && affected.ecosystem !== baseOf(ecosystem)) return false;
  if (normalName(affected.ecosystem, affected.name) !== normalName(ecosystem, name)) return false;
  return version === null || affected.all === true || (affected.versions ?? []).includes(version);
}

function asAffected({ ecosystem, name, versions, all, specific }: Affects): unknown {
  const ranges = [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }] }];
  return {
    package: { ecosystem, name },
    ...(all ? { ranges } : {}),
    versions: versions ?? [],
    ...(specific && { ecosystem_specific: specific }),
  };
}

function sentinelOf(ecosystem: string): FullRecord {
  const ranges = [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: SENTINEL_FIXED }] }];
  return {
    id: `SENTINEL-${ecosystem.replaceAll(/[^A-Za-z0-9]+/g, '-')}`,
    modified: SENTINEL_MODIFIED,
    affected: [{ package: { ecosystem, name: 'kernel' }, ranges }],
  };
}

/** Whether the API accepts the ecosystem at all: an unknown release of a known one is accepted, and finds nothing. */
export function isKnownEcosystem(ecosystem: string): boolean {
  return KNOWN_ECOSYSTEMS.has(baseOf(ecosystem));
}

function baseOf(ecosystem: string): string {
  return ecosystem.split(':')[0] ?? '';
}

/** PyPI names are compared in their normal form (PEP 503), all others to the letter. */
function normalName(ecosystem: string, name: string): string {
  return baseOf(ecosystem) === 'PyPI' ? name.toLowerCase().replaceAll(/[-_.]+/g, '-') : name;
}
