import { createHash } from 'node:crypto';
import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import { type PackageRecord, storedPackages } from '../installed/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import { takeTurn } from '../platform/turns.ts';
import type { PackageRow } from './component-rules.ts';
import { type HostRow, hostsOf, reportsOf, type Target } from './facts-store.ts';

/** Most hosts of one document. */
const HOSTS_MAX = 1_000;
/** Packages that are handled at once: nothing else runs meanwhile. */
const PART_PACKAGES = 200;

export interface PackagesOfHost {
  readonly ecosystem: Ecosystem;
  readonly packages: readonly PackageRow[];
}

/** How whole the list of a host's packages is (CycloneDX, compositions). */
type Aggregate = 'complete' | 'incomplete' | 'unknown';

export interface Subjects {
  readonly target: Target;
  readonly hosts: readonly HostRow[];
  /** Of the newest report, so that the same reports make the same document; null without one. */
  readonly at: string | null;
  readonly aggregateOf: (agentId: string) => Aggregate;
}

/** Throws a Refusal where there is no such host or no host in the group, or there are too many. */
export async function readTarget(db: Db, target: Target): Promise<Subjects> {
  const hosts = await hostsOf(db, target, HOSTS_MAX + 1);
  if (hosts.length === 0) throw noSuch(target.kind === 'host' ? 'agent' : 'host in this group');
  if (hosts.length > HOSTS_MAX) throw tooLarge(`The group has more than ${HOSTS_MAX} hosts.`);
  const reports = await reportsOf(
    db,
    hosts.map(({ id }) => id),
  );
  const byHost = Map.groupBy(reports, ({ agent_id: id }) => id);
  const newest = reports.reduce((latest, { received_at: ms }) => Math.max(latest, Number(ms)), 0);
  return {
    ...{ target, hosts, at: newest === 0 ? null : rfc3339(newest) },
    aggregateOf(agentId) {
      const own = byHost.get(agentId);
      if (own === undefined) return 'unknown';
      return own.every(({ complete }) => complete === 1) ? 'complete' : 'incomplete';
    },
  };
}

/** The packages of a host, some at a time. */
export async function* packagesOfHost(db: Db, { id: agentId }: HostRow): AsyncGenerator<PackagesOfHost> {
  for (const ecosystem of ECOSYSTEMS) {
    await takeTurn();
    for await (const page of storedPackages(db, { agentId, ecosystem })) {
      for (const records of chunks(page, PART_PACKAGES)) {
        await takeTurn();
        yield { ecosystem, packages: records.map(packageOf) };
      }
    }
  }
}

function packageOf({ name, arch, version, origin, ...source }: PackageRecord): PackageRow {
  const { source_name: sourceName, source_version: sourceVersion } = source;
  return { name, arch, version, origin, sourceName, sourceVersion };
}

export function tooLarge(why: string): Refusal {
  return new Refusal('conflict', { detail: `${why} Ask for each host by itself.` });
}

/** The same for the same texts: UUID version 8 (RFC 9562). */
export async function contentId(texts: Iterable<string>): Promise<string> {
  const hash = createHash('sha256');
  for (const text of texts) {
    await takeTurn();
    hash.update(text).update('\n');
  }
  const hex = hash.digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}
