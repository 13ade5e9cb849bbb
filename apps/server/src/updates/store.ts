import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { PlanAction } from '@tidegate/protocol/plan';
import type { UpdateState } from '@tidegate/protocol/states';
import {
  type Insertable,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
  type Updateable,
} from 'kysely';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, HotSql, Tx } from '../platform/db/engine.ts';
import { textOrNull } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';
import { isOpenUpdate } from './open-schema.ts';

export type UpdateRow = Omit<Selectable<Tables['updates']>, 'gone' | 'again' | 'host_os_id' | 'blocked'>;
export type HistoryRow = Selectable<Tables['update_history']>;
export type UpdateChange = Pick<
  Updateable<Tables['updates']>,
  'plan_id' | 'approval_id' | 'not_before' | 'taken_back' | 'out_of_band'
>;

/** The package manager's actions for an update, as the agent reported them. */
export interface StoredPlan {
  id: string;
  agentId: string;
  resolvedAtMs: number;
  receivedAtMs: number;
  actions: PlanAction[];
  planSha256: string;
}

/** Rows read per statement, because SQLite cannot interrupt it. */
const READ_ROWS = 500;
/** Rows per INSERT; SQLite binds at most 32,766 values. */
const INSERT_ROWS = 500;

export async function findUpdate(db: Db, id: string): Promise<UpdateRow | null> {
  return (await db.selectFrom('updates').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

const IS_OPEN = sql.raw<SqlBool>(isOpenUpdate('state'));
const CLOSED = `state IN ('installed', 'superseded')`;

/** What a scan goes by: reading all columns of all open updates would cost more than the rest of a small report. */
const KNOWN = [
  ...(['id', 'ecosystem', 'name', 'arch', 'current_version', 'available_version'] as const),
  ...(['origin', 'security', 'size_bytes', 'offers', 'change', 'recommended'] as const),
  ...(['state', 'taken_back', 'rollback_of', 'updated_at'] as const),
] as const;
export type KnownUpdate = Pick<UpdateRow, (typeof KNOWN)[number]>;

/** One package of a host, in one place. */
export interface PackageOfHost {
  readonly agentId: string;
  readonly ecosystem: string;
  readonly name: string;
  readonly arch: string;
}

/** All open updates of a host. */
export async function openUpdatesOf(
  db: Db,
  of: { agentId: string; ecosystem: string },
): Promise<KnownUpdate[]> {
  return pagesOf(updatesOf(db, of).select(KNOWN).where(IS_OPEN));
}

/** The open updates of one package of a host. */
export async function openUpdatesOfPackage(
  db: Db,
  { name, arch, ...of }: PackageOfHost,
): Promise<KnownUpdate[]> {
  const open = updatesOf(db, of).select(KNOWN).where(IS_OPEN);
  return pagesOf(open.where('name', '=', name).where('arch', '=', arch));
}

/** The members of all open updates of a host that the answer to a report has, or needs, and what says when they changed. */
export async function openAnswersOf(db: Db, of: { agentId: string; ecosystem: string }) {
  const answered = ['id', 'name', 'arch', 'available_version', 'recommended', 'rollback_of'] as const;
  const changed = ['state', 'updated_at'] as const;
  return pagesOf(
    updatesOf(db, of)
      .select([...answered, ...changed])
      .where(IS_OPEN),
  );
}

/** Of each offer, the installed or superseded update that came last. One look-up each, however many there were before it. */
export async function closedUpdatesOf(
  db: Db,
  {
    agentId,
    ecosystem,
    offers,
  }: {
    agentId: string;
    ecosystem: string;
    offers: readonly Pick<InventoryUpdate, 'name' | 'arch' | 'available_version'>[];
  },
): Promise<KnownUpdate[]> {
  const found: KnownUpdate[] = [];
  for (const some of chunks(offers)) {
    const asked = some.map(({ name, arch = '', available_version: version }) => [name, arch, version]);
    const rows = await db.run(LAST_CLOSED, [JSON.stringify(asked), agentId, ecosystem]);
    const ids = rows.map(([id]) => textOrNull(id)).filter((id) => id !== null);
    if (ids.length === 0) continue;
    found.push(...(await db.selectFrom('updates').select(KNOWN).where('id', 'in', ids).execute()));
  }
  return found;
}

const LAST_CLOSED: HotSql = {
  name: 'last_closed',
  sqlite: lastClosed('json_each(?1) AS k', { agentId: '?2', ecosystem: '?3' }),
  postgres: lastClosed('jsonb_array_elements($1::jsonb) AS k (value)', { agentId: '$2', ecosystem: '$3' }),
};

/** `offers`: their names, architectures and versions, one array for each in `k.value`. */
export function lastClosed(
  offers: string,
  { agentId, ecosystem }: { agentId: string; ecosystem: string },
): string {
  return `SELECT (SELECT u.id FROM updates AS u WHERE u.agent_id = ${agentId} AND u.ecosystem = ${ecosystem}
      AND u.name = k.value ->> 0 AND u.arch = k.value ->> 1 AND u.available_version = k.value ->> 2
      AND u.rollback_of IS NULL AND ${CLOSED} ORDER BY u.id DESC LIMIT 1) FROM ${offers}`;
}

function updatesOf(db: Db, { agentId, ecosystem }: { agentId: string; ecosystem: string }) {
  return db.selectFrom('updates').where('agent_id', '=', agentId).where('ecosystem', '=', ecosystem);
}

/** In name order, rows of one name in the order found. */
async function pagesOf<R extends Pick<UpdateRow, 'id' | 'name'>>(
  updates: SelectQueryBuilder<Tables, 'updates', R>,
): Promise<R[]> {
  const query = updates.orderBy('name').orderBy('id').limit(READ_ROWS).$castTo<R>();
  const found: R[] = [];
  let page = await query.execute();
  for (;;) {
    found.push(...page);
    const last = page.at(-1);
    if (!last || page.length < READ_ROWS) return found;
    page = await query.where((e) => e(e.refTuple('name', 'id'), '>', e.tuple(last.name, last.id))).execute();
  }
}

export async function insertUpdates(tx: Tx, rows: readonly Insertable<Tables['updates']>[]): Promise<void> {
  await insertNames(tx, rows);
  for (let i = 0; i < rows.length; i += INSERT_ROWS) {
    await tx
      .insertInto('updates')
      .values(rows.slice(i, i + INSERT_ROWS))
      .execute();
  }
}

/** In one order, so that two writers of the same names do not deadlock. */
async function insertNames(
  tx: Tx,
  rows: readonly Pick<Insertable<Tables['updates']>, 'ecosystem' | 'name'>[],
): Promise<void> {
  const names = new Map(rows.map(({ ecosystem, name }) => [`${name}\n${ecosystem}`, { ecosystem, name }]));
  const sorted = [...names].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
  for (const some of chunks(sorted)) {
    await tx
      .insertInto('update_names')
      .values(some)
      .onConflict((conflict) => conflict.columns(['name', 'ecosystem']).doNothing())
      .execute();
  }
}

/** Sets the facts of the newest scan, which do not include the state. */
export async function refreshUpdate(
  tx: Tx,
  id: string,
  facts: Pick<
    UpdateRow,
    'current_version' | 'origin' | 'security' | 'size_bytes' | 'offers' | 'change' | 'updated_at'
  >,
): Promise<void> {
  const { current_version, origin, security, size_bytes, offers, change, updated_at } = facts;
  const set = { current_version, origin, security, size_bytes, offers, change, updated_at };
  await tx.updateTable('updates').set(set).where('id', '=', id).execute();
}

export async function setRecommended(
  tx: Tx,
  { id, recommended }: Pick<UpdateRow, 'id' | 'recommended'>,
): Promise<void> {
  await tx.updateTable('updates').set({ recommended }).where('id', '=', id).execute();
}

/** Compare-and-swap: true if the update was in `from` and has changed. */
export async function compareAndSwapState(
  tx: Tx,
  args: {
    updateId: string;
    from: UpdateState;
    change: UpdateChange & { state: UpdateState; state_reason: string | null; updated_at: number };
  },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('updates')
    .set(args.change)
    .where('id', '=', args.updateId)
    .where('state', '=', args.from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function insertHistory(
  tx: Tx,
  rows: readonly Insertable<Tables['update_history']>[],
): Promise<void> {
  for (let i = 0; i < rows.length; i += INSERT_ROWS) {
    await tx
      .insertInto('update_history')
      .values(rows.slice(i, i + INSERT_ROWS))
      .execute();
  }
}

export async function readHistory(db: Db, updateId: string): Promise<HistoryRow[]> {
  return db
    .selectFrom('update_history')
    .selectAll()
    .where('update_id', '=', updateId)
    .orderBy('id', 'desc')
    .limit(500)
    .execute();
}

export async function insertPlan(tx: Tx, plan: StoredPlan): Promise<void> {
  await tx
    .insertInto('update_plans')
    .values({
      id: plan.id,
      agent_id: plan.agentId,
      resolved_at: plan.resolvedAtMs,
      received_at: plan.receivedAtMs,
      actions: JSON.stringify(plan.actions),
      plan_sha256: plan.planSha256,
    })
    .execute();
}

/** The stored plan of a host with these actions. */
export async function findPlanOf(
  db: Db,
  { agentId, planSha256 }: { agentId: string; planSha256: string },
): Promise<StoredPlan | null> {
  const row = await db
    .selectFrom('update_plans')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('plan_sha256', '=', planSha256)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row ? planOf(row) : null;
}

/** Makes a plan the newest of sets, named by their digests. */
export async function putPlanSets(
  tx: Tx,
  { sets, planId, nowMs }: { sets: readonly string[]; planId: string; nowMs: number },
): Promise<void> {
  const rows = [...new Set(sets)]
    .toSorted()
    .map((set_sha256) => ({ set_sha256, plan_id: planId, set_at: nowMs }));
  for (const some of chunks(rows)) {
    await tx
      .insertInto('plan_sets')
      .values(some)
      .onConflict((conflict) =>
        conflict.column('set_sha256').doUpdateSet((e) => ({
          plan_id: e.ref('excluded.plan_id'),
          set_at: e.ref('excluded.set_at'),
        })),
      )
      .execute();
  }
}

/** Deletes the plans of a host that were received before and that no update, approval or newer set names. */
export async function dropPlans(
  tx: Tx,
  { agentId, beforeMs }: { agentId: string; beforeMs: number },
): Promise<void> {
  const own = tx.selectFrom('update_plans').select('id').where('agent_id', '=', agentId);
  const old = own.where('received_at', '<', beforeMs);
  await tx.deleteFrom('plan_sets').where('set_at', '<', beforeMs).where('plan_id', 'in', old).execute();
  const ofSets = tx.selectFrom('plan_sets').select('plan_id').where('plan_id', 'in', own);
  const ofApprovals = tx.selectFrom('approvals').select('plan_id').where('plan_id', 'in', old);
  const ofUpdates = tx
    .selectFrom('updates')
    .select('plan_id')
    .where('agent_id', '=', agentId)
    .where('plan_id', 'is not', null)
    .$narrowType<{ plan_id: string }>();
  await tx
    .deleteFrom('update_plans')
    .where('agent_id', '=', agentId)
    .where('received_at', '<', beforeMs)
    .where('id', 'not in', ofSets)
    .where('id', 'not in', ofApprovals)
    .where('id', 'not in', ofUpdates)
    .execute();
}

export async function setPlan(
  tx: Tx,
  args: { updateId: string; planId: string; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('updates')
    .set({ plan_id: args.planId, updated_at: args.nowMs })
    .where('id', '=', args.updateId)
    .execute();
}

const planActions = Compile(Type.Array(PlanAction));

/** Returns null if the plan is missing; throws if the stored actions are not valid. */
export async function readPlan(db: Db, planId: string): Promise<StoredPlan | null> {
  const row = await db.selectFrom('update_plans').selectAll().where('id', '=', planId).executeTakeFirst();
  if (!row) return null;
  return planOf(row);
}

/** Throws if the actions are not valid. */
export function planOf(row: Selectable<Tables['update_plans']>): StoredPlan {
  const actions: unknown = JSON.parse(row.actions);
  if (!planActions.Check(actions)) throw new Error(`the plan ${row.id} in the database is not valid`);
  return {
    id: row.id,
    agentId: row.agent_id,
    resolvedAtMs: row.resolved_at,
    receivedAtMs: row.received_at,
    actions,
    planSha256: row.plan_sha256,
  };
}
