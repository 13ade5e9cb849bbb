import { UpdateState as State } from '@tidegate/protocol/states';
import type { AffectedHost } from '@tidegate/protocol/vulnerabilities-api';
import { Value } from 'typebox/value';
import { withTags } from '../agents/host-scope.ts';
import type { Config } from '../config.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { pendingOf } from '../unfixed/facts-store.ts';
import { stopsOf, waitsFor } from '../unfixed/waits-for.ts';
import { affectedPackages, fixesOf, fixKey, hostsFixed, hostsHaving } from './hosts-store.ts';

/** Hosts that one page looks at; where few are in the wanted state a page is shorter, and has a cursor. */
const LOOKED_AT_MAX = 200;
/** Hosts up to which they are found from their packages; of more a walk soon fills a page. */
const FEW_HOSTS = 20_000;

export interface HostsDeps {
  readonly platform: Pick<Platform, 'database' | 'now'>;
  readonly config: Pick<Config, 'vulnerabilityPolicy'>;
}

interface Wanted {
  readonly id: string;
  /** As last counted. */
  readonly hosts: number;
  readonly state: AffectedHost['state'] | undefined;
  readonly scope: GroupScope;
  readonly after: string;
  readonly limit: number;
}

type Page = { items: AffectedHost[]; last: string | null };

/** The hosts that have a vulnerability now, or had it, each with what fixes it; `last` is where the next page goes on. */
export async function listAffectedHosts(deps: HostsDeps, wanted: Wanted): Promise<Page> {
  return wanted.state === 'fixed' ? listFixed(deps, wanted) : listHaving(deps, wanted);
}

async function listFixed({ platform: { database } }: HostsDeps, wanted: Wanted): Promise<Page> {
  const { limit } = wanted;
  const hosts = await hostsFixed(database.read, { ...wanted, limit: limit + 1 });
  const items = hosts.slice(0, limit).map(({ id, hostname, group_name: group, fixed_at }) => ({
    ...{ agent_id: id, hostname, group, state: 'fixed' as const, packages: [], fixes: [] },
    fixed_at: rfc3339(fixed_at),
  }));
  return { items, last: hosts.length > limit ? (items.at(-1)?.agent_id ?? null) : null };
}

async function listHaving(deps: HostsDeps, { state, ...wanted }: Wanted): Promise<Page> {
  const { read } = deps.platform.database;
  const areMany = wanted.hosts > FEW_HOSTS;
  const hosts = await hostsHaving(read, { ...wanted, limit: LOOKED_AT_MAX, areMany });
  const described = await describe(deps, { id: wanted.id, hosts });
  const items: AffectedHost[] = [];
  for (const [i, one] of described.entries()) {
    if (state !== undefined && one.state !== state) continue;
    items.push(one);
    if (items.length === wanted.limit && i + 1 < described.length) return { items, last: one.agent_id };
  }
  return { items, last: hosts.length === LOOKED_AT_MAX ? (hosts.at(-1)?.id ?? null) : null };
}

async function describe(
  deps: HostsDeps,
  {
    id,
    hosts,
  }: { id: string; hosts: readonly { id: string; hostname: string; group_name: string | null }[] },
): Promise<AffectedHost[]> {
  const db = deps.platform.database.read;
  const ids = hosts.map((host) => host.id);
  const fixes = await fixesOf(db, id);
  const packages = Map.groupBy(await affectedPackages(db, { id, hosts: ids }), (row) => row.agent_id);
  const pending = Map.groupBy(ids.length === 0 ? [] : await pendingOf(db, ids), (row) => row.agent_id);
  const stops = await stopsOf(deps);
  const scopes = stops.holds.map(({ scope }) => scope);
  const tagged = await withTags(
    db,
    hosts.map((host) => ({ ...host, group: host.group_name })),
    scopes,
  );
  return tagged.map((host) => {
    const own = packages.get(host.id) ?? [];
    const open = pending.get(host.id) ?? [];
    const offersOf = ({ name, subject }: { name: string; subject: string }) =>
      open.filter((row) => row.name === name && fixes.has(fixKey(subject, row.available_version)));
    const offered = own.map((one) =>
      offersOf(one).map((row) => ({ row, waits_for: waitsFor(row, host, stops) })),
    );
    const isFixed = offered.length > 0 && offered.every((offers) => offers.length > 0);
    const isApprovable = offered.every((offers) => offers.some(({ waits_for }) => waits_for === 'approval'));
    const distinct = new Map(offered.flat().map((one) => [one.row.id, one]));
    const versions = new Map(own.map(({ name, version }) => [`${name} ${version}`, { name, version }]));
    return {
      ...{ agent_id: host.id, hostname: host.hostname, group: host.group_name },
      state: isFixed ? (isApprovable ? 'fixable' : 'waiting') : 'unfixed',
      packages: [...versions.values()],
      fixes: [...distinct.values()].map(({ row, waits_for }) => ({
        ...{ update_id: row.id, name: row.name, version: row.available_version, waits_for },
        state: Value.Parse(State, row.state),
      })),
      fixed_at: null,
    };
  });
}
