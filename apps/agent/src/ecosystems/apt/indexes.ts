import type { PlanAction } from '@tidegate/protocol/plan';
import { keyOf, readRecords, type Wanted } from './artifacts.ts';
import type { AptPlaces } from './installed.ts';
import {
  describeOrigins,
  type Origin,
  type PackagePolicy,
  parseOrigins,
  parsePolicies,
} from './parse-policy.ts';
import type { PackageRecord } from './parse-records.ts';
import type { Parsed } from './parse-transaction.ts';
import { type AptSession, shownName } from './session.ts';
import { openSigners } from './signers.ts';

/** What the indexes say about package versions, read once for each. */
export interface Indexes {
  /** Reads everything about these versions in one run; what is known already is not read again. */
  read(wanted: readonly Wanted[]): Promise<Parsed<null>>;
  /** Empty where no archive has the version. */
  records(wanted: Wanted): readonly PackageRecord[];
  /** As `apt-get -s` writes it; empty where no archive offers the version. */
  origin(wanted: Wanted): string;
  /** Names who signed the repository of each artifact, where that is known. */
  withOriginKeys(actions: readonly PlanAction[]): Promise<PlanAction[]>;
  /** Percentage of hosts that are offered the version so far; null when all are. */
  phasedPercent(wanted: Pick<Wanted, 'name' | 'version'> & { arch?: string | undefined }): number | null;
}

/** Opens the indexes of a session, with nothing read yet. */
export function openIndexes(session: AptSession, { nativeArch, etcDir }: AptPlaces): Indexes {
  const signers = openSigners(session, { etcDir });
  const records = new Map<string, readonly PackageRecord[]>();
  const policies = new Map<string, PackagePolicy>();
  let archives: ReadonlyMap<string, Origin> | null = null;

  async function readPolicies(names: readonly string[]): Promise<Parsed<null>> {
    if (archives === null) {
      const sources = await session.run('apt-cache', ['policy']);
      if (!sources.ok) return { ok: false, reason: sources.detail };
      archives = parseOrigins(sources.stdout);
    }
    const missing = [...new Set(names)].filter((name) => !policies.has(name));
    if (missing.length === 0) return { ok: true, value: null };
    const answer = await session.run('apt-cache', ['policy', ...missing]);
    const parsed = answer.ok ? parsePolicies(answer.stdout) : { ok: false as const, reason: answer.detail };
    if (!parsed.ok) return parsed;
    for (const [name, policy] of parsed.value) policies.set(name, policy);
    return { ok: true, value: null };
  }

  const offered = (wanted: Parameters<Indexes['phasedPercent']>[0]) =>
    policies.get(shownName(wanted, nativeArch))?.versions.find(({ version }) => version === wanted.version);

  return {
    read: async (wanted) => {
      const missing = wanted.filter((pkg) => !records.has(keyOf(pkg)));
      const found = await readRecords(session, missing);
      if (!found.ok) return found;
      for (const pkg of missing) records.set(keyOf(pkg), []);
      for (const [key, known] of found.value) records.set(key, known);
      return readPolicies(wanted.map((pkg) => shownName(pkg, nativeArch)));
    },
    records: (wanted) => records.get(keyOf(wanted)) ?? [],
    origin: (wanted) =>
      describeOrigins((offered(wanted)?.indexes ?? []).flatMap((index) => archives?.get(index) ?? [])),
    withOriginKeys: signers.name,
    phasedPercent: (wanted) => offered(wanted)?.phasedPercent ?? null,
  };
}
