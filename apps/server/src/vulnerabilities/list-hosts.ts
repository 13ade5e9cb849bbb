import { Ecosystem } from '@tidegate/protocol/scalars';
import { UpdateState as State } from '@tidegate/protocol/states';
import { AFFECTED_SAID_MAX, type AffectedHost } from '@tidegate/protocol/vulnerabilities-api';
import { Value } from 'typebox/value';
import { type Subject, subjectKey } from '../advisories/subjects.ts';
import { withTags } from '../agents/host-scope.ts';
import type { Config } from '../config.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { pendingOf } from '../unfixed/facts-store.ts';
import { judgementsOf } from '../unfixed/read-judgements.ts';
import { installedOf, placeOf } from '../unfixed/unfixed-rules.ts';
import { stopsOf, waitsFor } from '../unfixed/waits-for.ts';
import { findVulnerable, type Vulnerable } from '../vulnerability-index/filter-store.ts';
import { affectedPackages, fixesOf, hostsFixed, hostsHaving, packagesNamed } from './hosts-store.ts';

/** Hosts that one page looks at; where few are in the wanted state a page is shorter, and has a cursor. */
const LOOKED_AT_MAX = 200;

export interface HostsDeps {
  readonly platform: Pick<Platform, 'database' | 'now'>;
  readonly config: Pick<Config, 'vulnerabilityPolicy'>;
}

interface Wanted {
  readonly id: string;
  /** Every id that it has. */
  readonly names: readonly string[];
  readonly state: AffectedHost['state'] | undefined;
  readonly scope: GroupScope;
  readonly after: string;
  readonly limit: number;
}

type Found = Wanted & { readonly found: Vulnerable };
type Page = { items: AffectedHost[]; last: string | null };

/** The hosts that have a vulnerability now, or had it, each with what fixes it; `last` is where the next page goes on. */
export async function listAffectedHosts(deps: HostsDeps, wanted: Wanted): Promise<Page> {
  const found = await findVulnerable(deps.platform.database.read, { id: wanted.id });
  const of = { ...wanted, found };
  return wanted.state === 'fixed' ? listFixed(deps, of) : listHaving(deps, of);
}

async function listFixed(deps: HostsDeps, wanted: Found): Promise<Page> {
  const { hosts, last } = await hostsFixed(deps.platform.database.read, { ...wanted, looks: LOOKED_AT_MAX });
  const items = (await surelyWithout(deps, { ...wanted, hosts })).map(
    ({ id, hostname, group_name: group, fixed_at }) => ({
      ...{ agent_id: id, hostname, group, state: 'fixed' as const, packages: [], fixes: [] },
      fixed_at: rfc3339(fixed_at),
    }),
  );
  return { items, last };
}

/**
 * Of these hosts those whose present packages of the same names are all judged, and judged not to have it: until a new version is
 * judged nobody knows that it fixes anything.
 */
async function surelyWithout<H extends { id: string; os_id: string; os_version_id: string }>(
  { platform }: HostsDeps,
  { found, names, hosts }: Pick<Found, 'found' | 'names'> & { hosts: readonly H[] },
): Promise<H[]> {
  const systems = new Map(hosts.map((host) => [host.id, host]));
  const rows = await packagesNamed(platform.database.read, { installed: found.installed, hosts });
  const present = rows.map((row) => {
    const { os_id: id = '', os_version_id: versionId = '' } = systems.get(row.agent_id) ?? {};
    const one = { ...row, sourceName: row.source_name, sourceVersion: row.source_version };
    return { row, ...installedOf(Value.Parse(Ecosystem, row.ecosystem), { id, versionId }, one) };
  });
  const subjects = new Map(
    present.flatMap((one) => one.subjects.map((subject) => [subjectKey(subject), subject])),
  );
  // However old the judgement is: it has not become less true.
  const judgements = await judgementsOf({ platform, config: { advisoryMaxAgeHours: Infinity } }, [
    ...subjects.values(),
  ]);
  const known = new Set(names);
  // Once for each subject: a host may have made up very many packages of one.
  const clear = new Set(
    [...subjects.keys()].filter((key) => {
      const judgement = judgements.get(key);
      return judgement?.isWhole === true && !judgement.ids.some((id) => known.has(id));
    }),
  );
  const isClear = (own: readonly Subject[]) =>
    own.length > 0 && own.every((one) => clear.has(subjectKey(one)));
  const doubtful = new Set(present.flatMap(({ row, subjects: own }) => (isClear(own) ? [] : [row.agent_id])));
  return hosts.filter(({ id }) => !doubtful.has(id));
}

async function listHaving(deps: HostsDeps, { state, ...wanted }: Found): Promise<Page> {
  const { read } = deps.platform.database;
  // Without a state each host counts, and no more are looked at than are shown.
  const most = state === undefined ? wanted.limit + 1 : LOOKED_AT_MAX;
  const hosts = await hostsHaving(read, { ...wanted, limit: most });
  const described = await describe(deps, { ...wanted, hosts });
  const items: AffectedHost[] = [];
  for (const [i, one] of described.entries()) {
    if (state !== undefined && one.state !== state) continue;
    items.push(one);
    if (items.length === wanted.limit && i + 1 < described.length) return { items, last: one.agent_id };
  }
  return { items, last: hosts.length === most ? (hosts.at(-1)?.id ?? null) : null };
}

async function describe(
  deps: HostsDeps,
  { id, found, hosts }: Pick<Found, 'id' | 'found'> & { hosts: Awaited<ReturnType<typeof hostsHaving>> },
): Promise<AffectedHost[]> {
  if (hosts.length === 0) return [];
  const db = deps.platform.database.read;
  const ids = hosts.map((host) => host.id);
  const fixes = await fixesOf(db, id);
  const packages = Map.groupBy(
    await affectedPackages(db, { id, installed: found.installed, hosts }),
    (row) => row.agent_id,
  );
  const pending = Map.groupBy((await Array.fromAsync(pendingOf(db, ids))).flat(), (row) => row.agent_id);
  const stops = await stopsOf(deps);
  const scopes = stops.holds.map(({ scope }) => scope);
  const tagged = await withTags(
    db,
    hosts.map((host) => ({ ...host, group: host.group_name })),
    scopes,
  );
  return tagged.map((host) => {
    const own = packages.get(host.id) ?? [];
    const open = Map.groupBy(pending.get(host.id) ?? [], (row) => placeOf(row.name, row.available_version));
    // What a host makes up may be very many packages, and very many updates of one name: each is looked at once.
    const fixing = new Map(
      own.map(({ name, subject }) => [
        placeOf(name, subject),
        (fixes.get(subject) ?? [])
          .map((version) => placeOf(name, version))
          .filter((place) => open.has(place)),
      ]),
    );
    const offers = new Map(
      [...new Set([...fixing.values()].flat())].map((place) => [
        place,
        (open.get(place) ?? []).map((row) => ({ row, waits_for: waitsFor(row, host, stops) })),
      ]),
    );
    const approvable = new Set(
      [...offers].flatMap(([place, some]) =>
        some.some(({ waits_for }) => waits_for === 'approval') ? [place] : [],
      ),
    );
    const offered = [...fixing.values()];
    const isFixed = offered.length > 0 && offered.every((places) => places.length > 0);
    const isApprovable = offered.every((places) => places.some((place) => approvable.has(place)));
    const versions = new Map(own.map(({ name, version }) => [placeOf(name, version), { name, version }]));
    return {
      ...{ agent_id: host.id, hostname: host.hostname, group: host.group_name },
      state: isFixed ? (isApprovable ? 'fixable' : 'waiting') : 'unfixed',
      packages: [...versions.values()].slice(0, AFFECTED_SAID_MAX),
      fixes: [...offers.values()]
        .flat()
        .slice(0, AFFECTED_SAID_MAX)
        .map(({ row, waits_for }) => ({
          ...{ update_id: row.id, name: row.name, version: row.available_version, waits_for },
          state: Value.Parse(State, row.state),
        })),
      fixed_at: null,
    };
  });
}
