import { ProbesAround, stateOfProbes } from '@tidegate/protocol/probes';
import type { HostOutcome, OutcomeCounts } from '@tidegate/protocol/rollouts-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import type { ExpressionBuilder } from 'kysely';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { anyIndexBut, fromHosts } from '../platform/db/from-hosts.ts';
import type { Tables } from '../platform/db/tables.ts';
import { FAILURES, type HostRun, isFailure, LASTING_OUTCOMES } from '../rollouts/outcome-rules.ts';
import { type RolloutHostRow, type RolloutRow, versionKey } from '../rollouts/store.ts';

/** Hosts of the rings that were entered whose outcome may change, by id. */
export async function watchedHosts(
  db: Db,
  { rollout, after, limit }: { rollout: RolloutRow; after: string; limit: number },
): Promise<RolloutHostRow[]> {
  return db
    .selectFrom('rollout_hosts')
    .selectAll()
    .where('rollout_id', '=', rollout.id)
    .where('ring', '<=', rollout.ring)
    .where('outcome', 'not in', LASTING_OUTCOMES)
    .where('agent_id', '>', after)
    .orderBy('agent_id')
    .limit(limit)
    .execute();
}

/** A command that installs versions of a rollout, with the plan that it carries out. */
export interface StoredRun extends HostRun {
  readonly planId: string;
  readonly ecosystem: string | null;
}

/** Of a command: all its updates have the same. */
function ecosystemOf({ selectFrom }: ExpressionBuilder<Tables & { c: Tables['agent_commands'] }, 'c'>) {
  return selectFrom('command_updates as n')
    .innerJoin('updates as v', 'v.id', 'n.update_id')
    .select('v.ecosystem')
    .whereRef('n.command_id', '=', 'c.id')
    .limit(1);
}

/** The commands by which a policy had versions of its rollout installed since that began, oldest first, by host. */
export async function runsOfHosts(
  db: Db,
  { rollout, agentIds }: { rollout: RolloutRow; agentIds: readonly string[] },
): Promise<Map<string, StoredRun[]>> {
  const found = new Map<string, StoredRun[]>();
  for (const some of chunks(agentIds)) {
    const rows = await fromHosts(db, some)
      .crossJoin('agent_commands as c')
      .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
      .select([
        'c.agent_id',
        'c.status',
        'c.reason',
        'c.sent_at',
        'c.finished_at',
        'c.changed_at',
        'c.probes',
      ])
      .select(['a.plan_id', (e) => ecosystemOf(e).as('ecosystem')])
      .whereRef('c.agent_id', '=', 'h.id')
      .where(anyIndexBut('c.action'), '=', 'install_update')
      .where('c.created_at', '>=', rollout.started_at)
      .where('a.policy_id', '=', rollout.policy_id)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('command_updates as m')
            .innerJoin('updates as u', 'u.id', 'm.update_id')
            .innerJoin('rollout_packages as p', (join) =>
              join
                .onRef('p.ecosystem', '=', 'u.ecosystem')
                .onRef('p.name', '=', 'u.name')
                .onRef('p.version', '=', 'u.available_version')
                .on('p.rollout_id', '=', rollout.id),
            )
            .select('m.command_id')
            .whereRef('m.command_id', '=', 'c.id'),
        ),
      )
      .orderBy('c.created_at')
      .orderBy('c.id')
      .execute();
    for (const row of rows) {
      const list = found.get(row.agent_id) ?? [];
      list.push({
        ...{ status: row.status, reason: row.reason, sentAtMs: row.sent_at, planId: row.plan_id },
        ecosystem: row.ecosystem,
        // Times that a host reports are of its own clock; ours says when we heard of it.
        finishedAtMs: row.finished_at === null ? null : (row.changed_at ?? row.finished_at),
        endedThereMs:
          row.finished_at === null ? null : Math.min(row.finished_at, row.changed_at ?? row.finished_at),
        before: beforeOf(row.probes),
      });
      found.set(row.agent_id, list);
    }
  }
  return found;
}

function beforeOf(probes: string | null): HostRun['before'] {
  if (probes === null) return null;
  const { before } = Value.Parse(ProbesAround, JSON.parse(probes));
  return before ? stateOfProbes(before.probes) : null;
}

/** How many versions of a rollout each host still offers, and how many of them wait for a plan. */
export async function offersOfHosts(
  db: Db,
  { rolloutId, agentIds }: { rolloutId: string; agentIds: readonly string[] },
): Promise<Map<string, { pending: number; awaited: number }>> {
  const found = new Map<string, { pending: number; awaited: number }>();
  for (const some of chunks(agentIds)) {
    const rows = await fromHosts(db, some)
      .crossJoin('updates as u')
      .innerJoin('rollout_packages as p', (join) =>
        join
          .onRef('p.ecosystem', '=', 'u.ecosystem')
          .onRef('p.name', '=', 'u.name')
          .onRef('p.version', '=', 'u.available_version')
          .on('p.rollout_id', '=', rolloutId),
      )
      .select(['u.agent_id', 'u.state'])
      .select((e) => e.fn.countAll<number>().as('total'))
      .whereRef('u.agent_id', '=', 'h.id')
      .where('u.gone', '=', 0)
      .where('u.state', 'in', ['pending', 'awaiting_plan'])
      .groupBy(['u.agent_id', 'u.state'])
      .execute();
    for (const { agent_id: id, state, total } of rows) {
      const offers = found.get(id) ?? { pending: 0, awaited: 0 };
      offers[state === 'pending' ? 'pending' : 'awaited'] += Number(total);
      found.set(id, offers);
    }
  }
  return found;
}

/** Writes what became of hosts, where nobody else has written meanwhile. */
export async function saveOutcomes(
  tx: Tx,
  changes: readonly { before: RolloutHostRow; after: Partial<RolloutHostRow> }[],
): Promise<void> {
  for (const { before, after } of changes) {
    await tx
      .updateTable('rollout_hosts')
      .set(after)
      .where('rollout_id', '=', before.rollout_id)
      .where('agent_id', '=', before.agent_id)
      .where('outcome', '=', before.outcome)
      .execute();
  }
}

/** The hosts of a ring, counted. */
export interface RingCounts {
  readonly outcomes: OutcomeCounts;
  readonly hosts: number;
  readonly late: number;
  readonly excused: number;
}

/** By ring; a ring without a host is missing. */
export async function countRings(db: Db, rolloutId: string): Promise<Map<number, RingCounts>> {
  const rows = await db
    .selectFrom('rollout_hosts')
    .select(['ring', 'outcome', 'late', 'excused'])
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('rollout_id', '=', rolloutId)
    .groupBy(['ring', 'outcome', 'late', 'excused'])
    .execute();
  return new Map(
    [...Map.groupBy(rows, ({ ring }) => ring)].map(([ring, own]) => {
      const sum = (list: typeof own) => list.reduce((all, { total }) => all + Number(total), 0);
      const countOf = (outcome: HostOutcome) => sum(own.filter((row) => row.outcome === outcome));
      return [
        ring,
        {
          outcomes: outcomesBy(countOf),
          hosts: sum(own),
          late: sum(own.filter((row) => row.late === 1)),
          // One that was silent may have reported since.
          excused: sum(own.filter((row) => row.excused === 1 && isFailure(row.outcome))),
        },
      ];
    }),
  );
}

/** Of a ring without a host. */
export const NO_HOSTS: RingCounts = { outcomes: outcomesBy(() => 0), hosts: 0, late: 0, excused: 0 };

export function outcomesBy(countOf: (outcome: HostOutcome) => number): OutcomeCounts {
  const of = (outcome: HostOutcome) => countOf(outcome);
  return {
    ...{ waiting: of('waiting'), offline: of('offline'), running: of('running'), installed: of('installed') },
    ...{ failed: of('failed'), probe_failed: of('probe_failed'), silent: of('silent') },
    ...{ refused: of('refused'), unfit: of('unfit'), not_offered: of('not_offered') },
  };
}

/** All rings together. */
export function sumOf(rings: Iterable<RingCounts>): OutcomeCounts {
  const all = [...rings];
  return outcomesBy((outcome) => all.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0));
}

/** Installed hosts of a ring whose soak is over. */
export async function soakedHosts(
  db: Db,
  { rolloutId, ring, untilMs }: { rolloutId: string; ring: number; untilMs: number },
): Promise<Pick<RolloutHostRow, 'agent_id' | 'ended_there_at' | 'probes_asked'>[]> {
  return db
    .selectFrom('rollout_hosts')
    .select(['agent_id', 'ended_there_at', 'probes_asked'])
    .where('rollout_id', '=', rolloutId)
    .where('ring', '=', ring)
    .where('outcome', '=', 'installed')
    .where('settled_at', '<=', untilMs)
    .orderBy('agent_id')
    .execute();
}

/** Open divergences among the packages of a rollout. The ledger has names in the one form that their ecosystem compares. */
export async function openDivergences(db: Db, rolloutId: string): Promise<number> {
  const carried = await db
    .selectFrom('rollout_packages')
    .select(['ecosystem', 'name', 'version'])
    .where('rollout_id', '=', rolloutId)
    .execute();
  const versions = new Set<string>();
  const names = new Set<string>();
  for (const { ecosystem, name, version } of carried) {
    const canonical = canonicalName(Value.Parse(Ecosystem, ecosystem), name);
    versions.add(versionKey({ ecosystem, name: canonical, version }));
    names.add(canonical);
  }
  let open = 0;
  for (const some of chunks([...names])) {
    const rows = await db
      .selectFrom('artifact_divergences')
      .select(['ecosystem', 'name', 'version'])
      .where('name', 'in', some)
      .where('state', '=', 'open')
      .execute();
    open += rows.filter((row) => versions.has(versionKey(row))).length;
  }
  return open;
}

/** Hosts that failed and are not excused, by name; for the event of a halt. */
export async function failedHosts(
  db: Db,
  { rolloutId, limit }: { rolloutId: string; limit: number },
): Promise<{ agent_id: string; hostname: string; outcome: string }[]> {
  return db
    .selectFrom('rollout_hosts as h')
    .innerJoin('agents as a', 'a.id', 'h.agent_id')
    .select(['h.agent_id', 'a.hostname', 'h.outcome'])
    .where('h.rollout_id', '=', rolloutId)
    .where('h.outcome', 'in', FAILURES)
    .where('h.excused', '=', 0)
    .orderBy('a.hostname')
    .orderBy('h.agent_id')
    .limit(limit)
    .execute();
}

/** A person answers for the hosts that have failed so far; how many. */
export async function excuseFailed(tx: Tx, rolloutId: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('rollout_hosts')
    .set({ excused: 1 })
    .where('rollout_id', '=', rolloutId)
    .where('outcome', 'in', FAILURES)
    .where('excused', '=', 0)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Tokens of a policy whose commands no host has acknowledged, of versions that a rollout carries. */
export async function undeliveredTokens(
  db: Db,
  { rollout, after, limit }: { rollout: RolloutRow; after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('approvals as a')
    .innerJoin('agent_commands as c', 'c.approval_id', 'a.token_id')
    .innerJoin('rollout_hosts as h', (join) =>
      join.onRef('h.agent_id', '=', 'a.agent_id').on('h.rollout_id', '=', rollout.id),
    )
    .select('a.token_id')
    .distinct()
    .where('a.policy_id', '=', rollout.policy_id)
    .where('a.voided_at', 'is', null)
    .where('a.token_id', '>', after)
    .where('c.status', 'in', ['pending', 'sent'])
    .where('c.created_at', '>=', rollout.started_at)
    .orderBy('a.token_id')
    .limit(limit)
    .execute();
  return rows.map(({ token_id: id }) => id);
}

/** The systems of the hosts of each ring. */
export async function systemsOf(db: Db, rolloutId: string) {
  const rows = await db
    .selectFrom('rollout_hosts as h')
    .innerJoin('agents as a', 'a.id', 'h.agent_id')
    .select(['h.ring', 'a.os_id', 'a.os_version_id', 'a.os_arch'])
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('h.rollout_id', '=', rolloutId)
    .groupBy(['h.ring', 'a.os_id', 'a.os_version_id', 'a.os_arch'])
    .execute();
  return rows.map(({ ring, os_id: osId, os_version_id: osVersion, os_arch: arch, total }) => ({
    ...{ ring, osId, osVersion, arch, hosts: Number(total) },
  }));
}

/** Hosts of a rollout by id, with their names. */
export async function listHosts(
  db: Db,
  filter: {
    rolloutId: string;
    ring?: number | undefined;
    outcome?: HostOutcome | undefined;
    after: string | null;
    limit: number;
  },
): Promise<(RolloutHostRow & { hostname: string })[]> {
  let query = hostsOf(db, filter)
    .innerJoin('agents as a', 'a.id', 'h.agent_id')
    .selectAll('h')
    .select('a.hostname');
  if (filter.after !== null) query = query.where('h.agent_id', '>', filter.after);
  return query.orderBy('h.agent_id').limit(filter.limit).execute();
}

export async function countHosts(db: Db, filter: HostsFilter): Promise<number> {
  const row = await hostsOf(db, filter)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

interface HostsFilter {
  readonly rolloutId: string;
  readonly ring?: number | undefined;
  readonly outcome?: HostOutcome | undefined;
}

function hostsOf(db: Db, { rolloutId, ring, outcome }: HostsFilter) {
  let query = db.selectFrom('rollout_hosts as h').where('h.rollout_id', '=', rolloutId);
  if (ring !== undefined) query = query.where('h.ring', '=', ring);
  return outcome === undefined ? query : query.where('h.outcome', '=', outcome);
}

/** The ring of each of these hosts in each of these rollouts, by both ids. */
export async function ringsOfHosts(
  db: Db,
  { rolloutIds, agentIds }: { rolloutIds: readonly string[]; agentIds: readonly string[] },
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  if (rolloutIds.length === 0) return found;
  for (const some of chunks(agentIds)) {
    const rows = await db
      .selectFrom('rollout_hosts')
      .select(['rollout_id', 'agent_id', 'ring'])
      .where('agent_id', 'in', some)
      .where('rollout_id', 'in', rolloutIds)
      .execute();
    for (const { rollout_id, agent_id, ring } of rows) found.set(`${rollout_id}\n${agent_id}`, ring);
  }
  return found;
}
