import { type Selectable, type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

// Evidence joins what all slices keep, and only reads: its queries stand together here.

/** Rows that are read at once, which bounds the memory of a bundle and the time of a statement. */
export const PAGE_ROWS = 500;
/** Updates that are read at once, with the history of each. */
export const PAGE_UPDATES = 200;

/** From `sinceMs` (inclusive) to `untilMs` (exclusive). */
export interface Span {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export type HostRow = Pick<
  Tables['agents'],
  | ('id' | 'hostname' | 'os_family' | 'os_id' | 'os_version_id' | 'os_arch' | 'agent_version')
  | ('group_name' | 'enrolled_at' | 'revoked_at' | 'deleted_at')
>;

/** By id, also deleted ones: what they did in a span remains. */
export async function hostsIn(
  db: Db,
  { agentId, groups, after }: { agentId: string | null; groups: readonly string[] | null; after: string },
): Promise<HostRow[]> {
  let query = db
    .selectFrom('agents')
    .select(['id', 'hostname', 'os_family', 'os_id', 'os_version_id', 'os_arch', 'agent_version'])
    .select(['group_name', 'enrolled_at', 'revoked_at', 'deleted_at'])
    .where('id', '>', after);
  if (agentId !== null) query = query.where('id', '=', agentId);
  if (groups !== null) query = query.where('group_name', 'in', groups);
  return query.orderBy('id').limit(PAGE_ROWS).execute();
}

export type UpdateRow = Pick<
  Tables['updates'],
  | ('id' | 'agent_id' | 'ecosystem' | 'name' | 'arch' | 'current_version' | 'available_version' | 'origin')
  | ('state' | 'state_reason' | 'out_of_band' | 'approval_id' | 'fixes' | 'discovered_at' | 'updated_at')
>;

/** A place in the updates of a host: their index has them in this order. */
export type UpdatePlace = Pick<UpdateRow, 'ecosystem' | 'name' | 'id'>;

/** A page of the updates of a host, of any time: a statement that left some out could read all of them. */
export async function updatesOfHost(
  db: Db,
  { agentId, after }: { agentId: string; after: UpdatePlace | null },
): Promise<UpdateRow[]> {
  const query = db
    .selectFrom('updates')
    .select(['id', 'agent_id', 'ecosystem', 'name', 'arch', 'current_version', 'available_version', 'origin'])
    .select(['state', 'state_reason', 'out_of_band', 'approval_id', 'fixes', 'discovered_at', 'updated_at'])
    .where('agent_id', '=', agentId)
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('id')
    .limit(PAGE_UPDATES);
  if (after === null) return query.execute();
  const { ecosystem, name, id } = after;
  return query.where(sql<SqlBool>`(ecosystem, name, id) > (${ecosystem}, ${name}, ${id})`).execute();
}

/** What happened to each of these updates before a time, oldest first. */
export async function historyOf(
  db: Db,
  { updateIds, untilMs }: { updateIds: readonly string[]; untilMs: number },
): Promise<Map<string, Tables['update_history'][]>> {
  const found: Tables['update_history'][] = [];
  for (const some of chunks(updateIds)) {
    const rows = await db
      .selectFrom('update_history')
      .selectAll()
      .where('update_id', 'in', some)
      .where('at', '<', untilMs)
      .orderBy('update_id')
      .orderBy('id')
      .execute();
    found.push(...rows);
  }
  return Map.groupBy(found, ({ update_id }) => update_id);
}

/** The id of the newest decision about each of these updates before a time. */
export async function lastDecisionsOf(
  db: Db,
  { updateIds, untilMs }: { updateIds: readonly string[]; untilMs: number },
): Promise<Map<string, string>> {
  const newest = new Map<string, string>();
  for (const some of chunks(updateIds)) {
    const rows = await db
      .selectFrom('decision_updates as m')
      .innerJoin('decisions as d', 'd.id', 'm.decision_id')
      .select((e) => ['m.update_id', e.fn.max('d.id').as('id')])
      .where('m.update_id', 'in', some)
      .where('d.decided_at', '<', untilMs)
      .groupBy('m.update_id')
      .execute();
    for (const { update_id, id } of rows) newest.set(update_id, id);
  }
  return newest;
}

/** The records of these few decisions. */
export async function documentsOf(
  db: Db,
  ids: readonly string[],
): Promise<{ id: string; document: string }[]> {
  return db.selectFrom('decisions').select(['id', 'document']).where('id', 'in', ids).execute();
}

/** A page of ids with their hosts, by id: the rows are read for the hosts that count alone, as their bytes allow. */
export interface IdPage {
  readonly rows: readonly { readonly id: string; readonly agent_id: string; readonly bytes: number }[];
  readonly isLast: boolean;
}

export async function approvalIds(db: Db, { from, after }: { from: string; after: string }): Promise<IdPage> {
  const rows = await db
    .selectFrom('approvals')
    .select(['token_id as id', 'agent_id', sql<number>`octet_length(envelope)`.as('bytes')])
    .where('token_id', '>=', from)
    .where('token_id', '>', after)
    .orderBy('token_id')
    .limit(PAGE_ROWS)
    .execute();
  return { rows, isLast: rows.length < PAGE_ROWS };
}

export async function decisionIds(db: Db, { from, after }: { from: string; after: string }): Promise<IdPage> {
  const rows = await db
    .selectFrom('decisions')
    .select(['id', 'agent_id', sql<number>`octet_length(document)`.as('bytes')])
    .where('id', '>=', from)
    .where('id', '>', after)
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
  return { rows, isLast: rows.length < PAGE_ROWS };
}

export type ApprovalRow = Tables['approvals'];
export type ResultRow = Pick<
  Tables['agent_commands'],
  | ('id' | 'approval_id' | 'approval_sha256' | 'status' | 'reason' | 'exit_code' | 'sent_at')
  | ('received_at' | 'started_at' | 'installing_at' | 'finished_at' | 'installed')
>;

/** Those of these approvals that were in force in the span, by id, with their updates and what came of them. */
export async function approvalsIn(
  db: Db,
  { ids, span }: { ids: readonly string[]; span: Span },
): Promise<{ row: ApprovalRow; updateIds: string[]; results: ResultRow[] }[]> {
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('token_id', 'in', ids)
    .where('issued_at', '<', span.untilMs)
    .where('expires_at', '>=', span.sinceMs)
    .orderBy('token_id')
    .execute();
  const members = await db
    .selectFrom('approval_updates')
    .select(['token_id', 'update_id'])
    .where('token_id', 'in', ids)
    .orderBy('token_id')
    .orderBy('update_id')
    .execute();
  const commandIds = db
    .selectFrom('approval_updates as m')
    .innerJoin('command_updates as c', 'c.update_id', 'm.update_id')
    .select('c.command_id')
    .where('m.token_id', 'in', ids);
  const results = await db
    .selectFrom('agent_commands')
    .select(['id', 'approval_id', 'approval_sha256', 'status', 'reason', 'exit_code', 'sent_at'])
    .select(['received_at', 'started_at', 'installing_at', 'finished_at', 'installed'])
    .where('id', 'in', commandIds)
    .where('approval_id', 'in', ids)
    .orderBy('id')
    .execute();
  const updatesOf = Map.groupBy(members, ({ token_id }) => token_id);
  const resultsOf = Map.groupBy(results, ({ approval_id }) => approval_id);
  return rows.map((row) => ({
    row,
    updateIds: (updatesOf.get(row.token_id) ?? []).map(({ update_id }) => update_id),
    results: resultsOf.get(row.token_id) ?? [],
  }));
}

/** Those of these decisions that were made or repeated in the span, by id. */
export async function decisionsIn(
  db: Db,
  { ids, span }: { ids: readonly string[]; span: Span },
): Promise<Tables['decisions'][]> {
  return db
    .selectFrom('decisions')
    .selectAll()
    .where('id', 'in', ids)
    .where('decided_at', '<', span.untilMs)
    .where((e) => e.or([e('decided_at', '>=', span.sinceMs), e('repeated_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .execute();
}

/** Policies, statements, origins and exceptions that were in force at some time of the span, by id. */
export async function policiesIn(db: Db, { span, after }: Paged): Promise<Selectable<Tables['policies']>[]> {
  return db
    .selectFrom('policies')
    .selectAll()
    .where('sha256', '>', after)
    .where('created_at', '<', span.untilMs)
    .where('ends_at', '>=', span.sinceMs)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', span.sinceMs)]))
    .orderBy('sha256')
    .limit(PAGE_ROWS)
    .execute();
}

interface Paged {
  readonly span: Span;
  readonly after: string;
}

export async function statementsIn(
  db: Db,
  { span, after }: Paged,
): Promise<Selectable<Tables['vex_statements']>[]> {
  return db
    .selectFrom('vex_statements')
    .selectAll()
    .where('id', '>', after)
    .where('created_at', '<', span.untilMs)
    .where('ends_at', '>=', span.sinceMs)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

export async function originsIn(db: Db, { span, after }: Paged): Promise<Selectable<Tables['origins']>[]> {
  return db
    .selectFrom('origins')
    .selectAll()
    .where('id', '>', after)
    .where('created_at', '<', span.untilMs)
    .where('ends_at', '>=', span.sinceMs)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

export async function holdsIn(db: Db, { span, after }: Paged): Promise<Tables['holds'][]> {
  return db
    .selectFrom('holds')
    .selectAll()
    .where('id', '>', after)
    .where('created_at', '<', span.untilMs)
    .where('ends_at', '>=', span.sinceMs)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

export async function ageExceptionsIn(
  db: Db,
  { span, after }: Paged,
): Promise<Selectable<Tables['age_exceptions']>[]> {
  return db
    .selectFrom('age_exceptions')
    .selectAll()
    .where('id', '>', after)
    .where('created_at', '<', span.untilMs)
    .where('expires_at', '>=', span.sinceMs)
    .where((e) => e.or([e('deleted_at', 'is', null), e('deleted_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute();
}

/** Rollouts that ran in the span, by id. */
export async function rolloutsIn(db: Db, { span, after }: Paged): Promise<Tables['rollouts'][]> {
  return db
    .selectFrom('rollouts')
    .selectAll()
    .where('id', '>', after)
    .where('started_at', '<', span.untilMs)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(50)
    .execute();
}

export async function packagesOfRollout(db: Db, id: string): Promise<Tables['rollout_packages'][]> {
  return db
    .selectFrom('rollout_packages')
    .selectAll()
    .where('rollout_id', '=', id)
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('version')
    .limit(PAGE_ROWS)
    .execute();
}

export async function hostsOfRollout(
  db: Db,
  { id, after }: { id: string; after: string },
): Promise<Tables['rollout_hosts'][]> {
  return db
    .selectFrom('rollout_hosts')
    .selectAll()
    .where('rollout_id', '=', id)
    .where('agent_id', '>', after)
    .orderBy('agent_id')
    .limit(PAGE_ROWS)
    .execute();
}

/** Contradicting hashes that were open at some time of the span, by id, with what each hash counts for. */
export async function divergencesIn(
  db: Db,
  { span, after }: Paged,
): Promise<{ row: Tables['artifact_divergences']; hashes: Tables['artifact_hashes'][] }[]> {
  const rows = await db
    .selectFrom('artifact_divergences')
    .selectAll()
    .where('id', '>', after)
    .where('opened_at', '<', span.untilMs)
    .where((e) => e.or([e('decided_at', 'is', null), e('decided_at', '>=', span.sinceMs)]))
    .orderBy('id')
    .limit(100)
    .execute();
  const hashes: Tables['artifact_hashes'][] = [];
  for (const some of chunks(rows.map(({ id }) => id))) {
    const found = await db
      .selectFrom('artifact_hashes')
      .selectAll()
      .where('divergence_id', 'in', some)
      .orderBy('divergence_id')
      .orderBy('hash')
      .execute();
    hashes.push(...found);
  }
  const hashesOf = Map.groupBy(hashes, ({ divergence_id }) => divergence_id);
  return rows.map((row) => ({ row, hashes: hashesOf.get(row.id) ?? [] }));
}

/** Vulnerabilities that had no fix at some time of the span, by id; of one group where it is given. */
export async function unfixedIn(
  db: Db,
  { span, after, group }: Paged & { group: string | null },
): Promise<Selectable<Tables['unfixed']>[]> {
  let query = db
    .selectFrom('unfixed')
    .selectAll()
    .where('id', '>', after)
    .where('first_seen_at', '<', span.untilMs)
    .where((e) => e.or([e('gone_at', 'is', null), e('gone_at', '>=', span.sinceMs)]));
  if (group !== null) {
    const ids = db.selectFrom('unfixed_groups').select('unfixed_id').where('group_name', '=', group);
    query = query.where('id', 'in', ids);
  }
  return query.orderBy('id').limit(PAGE_ROWS).execute();
}

export async function reportsOfHost(db: Db, agentId: string): Promise<Tables['inventory_reports'][]> {
  return db
    .selectFrom('inventory_reports')
    .selectAll()
    .where('agent_id', '=', agentId)
    .orderBy('ecosystem')
    .execute();
}

/** Places and times of checkpoints before a position, the newest first. */
export async function checkpointTimesBefore(
  db: Db,
  position: number | null,
): Promise<Pick<Tables['event_checkpoints'], 'position' | 'created_at'>[]> {
  const all = db.selectFrom('event_checkpoints').select(['position', 'created_at']);
  const query = position === null ? all : all.where('position', '<', position);
  return query.orderBy('position', 'desc').limit(PAGE_ROWS).execute();
}

/** Checkpoints from a position on, in order. */
export async function checkpointsFrom(
  db: Db,
  { from, limit }: { from: number; limit: number },
): Promise<Tables['event_checkpoints'][]> {
  return db
    .selectFrom('event_checkpoints')
    .selectAll()
    .where('position', '>=', from)
    .orderBy('position')
    .limit(limit)
    .execute();
}

/** Events of one host in the span, in the order of the log. */
export async function eventsOfHost(
  db: Db,
  { agentId, span, after }: { agentId: string; span: Span; after: number },
): Promise<Tables['events'][]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('position', '>', after)
    .where('created_at', '>=', span.sinceMs)
    .where('created_at', '<', span.untilMs)
    .orderBy('position')
    .limit(PAGE_ROWS)
    .execute();
}
