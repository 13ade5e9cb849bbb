import type { UpdateState } from '@tidegate/protocol/states';
import { sql } from 'kysely';
import { chunks, weighedChunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { planOf, type StoredPlan, type UpdateRow } from './store.ts';
import { managerOf, setDigest } from './update-set.ts';

/** Rows changed per statement: six or seven values each. */
const CHANGED_ROWS = 200;

/** The existing ones of these updates, by id. */
export async function findUpdates(db: Db, ids: readonly string[]): Promise<Map<string, UpdateRow>> {
  const found = new Map<string, UpdateRow>();
  for (const some of chunks(ids)) {
    const rows = await db.selectFrom('updates').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/** Bytes of plans read per statement and parsed per turn of the event loop; a larger plan is read alone. */
const READ_BYTES = 131_072;

/** By id; throws if stored actions are not valid. */
export async function readPlans(db: Db, planIds: readonly string[]): Promise<Map<string, StoredPlan>> {
  const found = new Map<string, StoredPlan>();
  for (const some of chunks(planIds)) {
    const sizes = await db
      .selectFrom('update_plans')
      .select(['id', PLAN_BYTES.as('bytes')])
      .where('id', 'in', some)
      .execute();
    for (const part of weighedChunks(sizes, { weigh: ({ bytes }) => bytes, most: READ_BYTES })) {
      const ids = part.map(({ id }) => id);
      const rows = await db.selectFrom('update_plans').selectAll().where('id', 'in', ids).execute();
      for (const row of rows) found.set(row.id, planOf(row));
    }
  }
  return found;
}

/** The id of the newest plan of each set that has one, by the digest of the set. */
export async function newestPlansOfSets(db: Db, sets: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks(sets)) {
    const rows = await db
      .selectFrom('plan_sets')
      .select(['set_sha256', 'plan_id'])
      .where('set_sha256', 'in', some)
      .execute();
    for (const { set_sha256, plan_id } of rows) found.set(set_sha256, plan_id);
  }
  return found;
}

/** The origins under which a host was offered versions of these packages, by `name\narch\nversion`. */
export async function offeredOrigins(
  db: Db,
  { agentId, ecosystem, names }: { agentId: string; ecosystem: string; names: readonly string[] },
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks(names)) {
    const rows = await db
      .selectFrom('updates')
      .select(['name', 'arch', 'available_version', 'origin'])
      .where('agent_id', '=', agentId)
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', some)
      .where('origin', 'is not', null)
      .orderBy('id')
      .execute();
    for (const { name, arch, available_version, origin } of rows) {
      if (origin !== null) found.set(`${name}\n${arch}\n${available_version}`, origin);
    }
  }
  return found;
}

/**
 * The id of the present plan of each set, in the given order. That of a single update is named by its row. A larger set has
 * its own, or that of all its updates where they resolve to one transaction.
 */
export async function plansOfSets(
  db: Db,
  sets: readonly (readonly Pick<UpdateRow, 'id' | 'plan_id'>[])[],
): Promise<(string | undefined)[]> {
  const digests = sets.map((set) => (set.length > 1 ? setDigest(set.map(({ id }) => id)) : undefined));
  const newest = await newestPlansOfSets(
    db,
    digests.flatMap((digest) => digest ?? []),
  );
  return sets.map((set, i) => newest.get(digests[i] ?? '') ?? commonPlan(set));
}

/** Takes the plan from these updates and from their set: the host resolves it again. */
export async function forgetPlans(tx: Tx, updateIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('plan_sets').where('set_sha256', '=', setDigest(updateIds)).execute();
  for (const some of chunks(updateIds)) {
    await tx.updateTable('updates').set({ plan_id: null }).where('id', 'in', some).execute();
  }
}

function commonPlan([first, ...others]: readonly Pick<UpdateRow, 'plan_id'>[]): string | undefined {
  const planId = first?.plan_id ?? undefined;
  return others.every(({ plan_id }) => plan_id === planId) ? planId : undefined;
}

const PLAN_BYTES = sql<number>`octet_length(actions)`;
/** Bytes of plans held and judged together: an action of 200 bytes takes a few kilobytes then. */
const JUDGED_BYTES = 2_097_152;

/** Updates of one host, ecosystem and place, which one transaction can bring. */
export interface UpdateGroup {
  readonly updateIds: readonly string[];
  /** Of the plans of single updates. */
  readonly planBytes: number;
}

/** Existing and other updates by host, ecosystem and place, in the order of the first of each; unknown ids are one group. */
export async function groupUpdates(db: Db, updateIds: readonly string[]): Promise<UpdateGroup[]> {
  const rows = new Map<string, { key: string; bytes: number }>();
  for (const some of chunks(updateIds)) {
    const found = await db
      .selectFrom('updates as u')
      .leftJoin('update_plans as p', 'p.id', 'u.plan_id')
      .select(['u.id', 'u.agent_id', 'u.ecosystem', 'u.arch', 'u.rollback_of', PLAN_BYTES.as('bytes')])
      .where('u.id', 'in', some)
      .execute();
    for (const { bytes, ...row } of found) rows.set(row.id, { key: managerOf(row), bytes: bytes ?? 0 });
  }
  const groups = Map.groupBy(updateIds, (id) => rows.get(id)?.key ?? '');
  return [...groups.values()].map((ids) => ({
    updateIds: ids,
    planBytes: ids.reduce((sum, id) => sum + (rows.get(id)?.bytes ?? 0), 0),
  }));
}

/** Splits updates into batches to judge: bounded in number, and by plans that fit in memory. */
export async function judgedParts(
  db: Db,
  { updateIds, most }: { updateIds: readonly string[]; most: number },
): Promise<string[][]> {
  const bytes = new Map<string, number>();
  for (const some of chunks(updateIds)) {
    const rows = await db
      .selectFrom('updates as u')
      .innerJoin('update_plans as p', 'p.id', 'u.plan_id')
      .select(['u.id', PLAN_BYTES.as('bytes')])
      .where('u.id', 'in', some)
      .execute();
    for (const row of rows) bytes.set(row.id, row.bytes);
  }
  const weigh = (id: string) => Math.max(Math.floor(JUDGED_BYTES / most), bytes.get(id) ?? 0);
  return [...weighedChunks(updateIds, { weigh, most: JUDGED_BYTES })];
}

/** Splits groups into parts to judge: bounded in updates, and by plans that fit in memory. A larger group is a part. */
export function judgedGroups(groups: readonly UpdateGroup[], most: number): UpdateGroup[][] {
  const weigh = ({ updateIds, planBytes }: UpdateGroup) =>
    Math.max(updateIds.length * Math.floor(JUDGED_BYTES / most), planBytes);
  return [...weighedChunks(groups, { weigh, most: JUDGED_BYTES })];
}

/** Updates of a host that have a plan and may still be installed, by id. */
export async function updatesWithPlan(
  db: Db,
  { agentId, after, limit }: { agentId: string; after: string; limit: number },
): Promise<{ id: string; ecosystem: string; plan_id: string }[]> {
  const rows = await db
    .selectFrom('updates')
    .select(['id', 'ecosystem', 'plan_id'])
    .where('agent_id', '=', agentId)
    .where('state', 'in', ['pending', 'awaiting_plan', 'approved'])
    .where('plan_id', 'is not', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.flatMap(({ plan_id, ...row }) => (plan_id === null ? [] : [{ ...row, plan_id }]));
}

export interface StateChange {
  readonly updateId: string;
  readonly from: UpdateState;
  readonly to: UpdateState;
  readonly reason: string | null;
  /** The actor of the change. */
  readonly actor: string;
  readonly approvalId: string | null;
  readonly notBefore: number | null;
}

/** Compare-and-swap of many, each with its own reason; returns how many were in the given state. */
export async function swapStates(
  tx: Tx,
  { changes, nowMs }: { changes: readonly StateChange[]; nowMs: number },
): Promise<number> {
  let swapped = 0;
  for (const some of chunks(changes, CHANGED_ROWS)) {
    const rows = some.map(
      (one) =>
        sql`(${one.updateId}, ${one.from}, ${one.to}, ${one.reason}, ${one.approvalId}, ${one.notBefore})`,
    );
    const { numAffectedRows } = await sql`UPDATE updates SET state = v.column3, state_reason = v.column4,
      approval_id = v.column5, not_before = CAST(v.column6 AS BIGINT), updated_at = ${nowMs}
      FROM (VALUES ${sql.join(rows)}) AS v
      WHERE updates.id = v.column1 AND updates.state = v.column2`.execute(tx);
    swapped += Number(numAffectedRows ?? 0n);
  }
  return swapped;
}

export type Badge = Pick<
  UpdateRow,
  | 'verdict'
  | 'severity'
  | 'known_exploited'
  | 'epss'
  | 'queue_rank'
  | 'introduces'
  | 'stays'
  | 'fixes'
  | 'fixes_severity'
  | 'fixes_exploited'
  | 'fix_rank'
  | 'stopped_under'
>;

/** Stores the badges for lists, from the newest verdict. No decision depends on them. */
export async function setVerdicts(
  tx: Tx,
  { badges, nowMs }: { badges: readonly { updateId: string; badge: Badge }[]; nowMs: number },
): Promise<void> {
  for (const some of chunks(badges, CHANGED_ROWS)) {
    const rows = some.map(
      ({ updateId, badge: of }) =>
        sql`(${updateId}, ${of.verdict}, ${of.severity}, ${of.known_exploited}, ${of.epss}, ${of.queue_rank}, ${of.introduces}, ${of.stays}, ${of.fixes}, ${of.stopped_under}, ${of.fixes_severity}, ${of.fixes_exploited}, ${of.fix_rank})`,
    );
    await sql`UPDATE updates SET verdict = v.column2, severity = v.column3,
      known_exploited = CAST(v.column4 AS INTEGER), epss = CAST(v.column5 AS DOUBLE PRECISION),
      queue_rank = CAST(v.column6 AS BIGINT), introduces = CAST(v.column7 AS INTEGER), stays = CAST(v.column8 AS INTEGER),
      fixes = CAST(v.column9 AS INTEGER), stopped_under = v.column10, fixes_severity = v.column11,
      fixes_exploited = CAST(v.column12 AS INTEGER), fix_rank = CAST(v.column13 AS INTEGER), judged_at = ${nowMs}
      FROM (VALUES ${sql.join(rows)}) AS v
      WHERE updates.id = v.column1`.execute(tx);
  }
}
