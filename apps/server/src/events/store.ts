import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import { agentInScope, type GroupScope } from '../platform/db/group-scope.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { UnchainedEvent } from '../platform/db/write-context.ts';

export type EventRow = Tables['events'];
/** With the current name of its host; null without a host, or if the host no longer exists. */
export type ListedEvent = EventRow & { readonly hostname: string | null };
export type CheckpointRow = Tables['event_checkpoints'];
export type AnchorRow = Tables['event_anchors'];

/** A place in the chain: an event's position and its hash. */
export interface ChainHead {
  position: number;
  hash: string;
}

export interface EventFilter {
  kind?: string | undefined;
  type?: string | undefined;
  severity?: string | undefined;
  component?: string | undefined;
  agentId?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
}

/** Locks the head of the chain; on PostgreSQL the row lock serializes concurrent writers. */
export async function lockHead(tx: Tx): Promise<{ position: number; hash: string | null }> {
  // A no-op update locks the row on both engines with the same SQL.
  return tx
    .updateTable('events_head')
    .set({ position: sql<number>`position` })
    .where('id', '=', 1)
    .returning(['position', 'hash'])
    .executeTakeFirstOrThrow();
}

export async function moveHead(tx: Tx, head: { position: number; hash: string }): Promise<void> {
  await tx.updateTable('events_head').set(head).where('id', '=', 1).execute();
}

export async function insertEvents(tx: Tx, rows: readonly EventRow[]): Promise<void> {
  for (const some of chunks(rows)) await tx.insertInto('events').values(some).execute();
}

/** Stores events without their place in the chain. */
export async function keepUnchained(tx: Tx, events: readonly UnchainedEvent[]): Promise<void> {
  for (const some of chunks(events)) await tx.insertInto('unchained_events').values(some).execute();
}

/** Removes the oldest ones, and returns them in the order in which they were stored. */
export async function takeUnchained(tx: Tx, limit: number): Promise<UnchainedEvent[]> {
  const oldest = tx.selectFrom('unchained_events').select('number').orderBy('number').limit(limit);
  const taken = await tx
    .deleteFrom('unchained_events')
    .where('number', 'in', oldest)
    .returningAll()
    .execute();
  return taken.toSorted((a, b) => a.number - b.number).map(({ number: _, ...event }) => event);
}

export async function oldestUnchained(db: Db): Promise<Pick<UnchainedEvent, 'created_at'> | null> {
  const query = db.selectFrom('unchained_events').select('created_at').orderBy('number').limit(1);
  return (await query.executeTakeFirst()) ?? null;
}

/** Position and hash of the newest event; null while there is none. */
export async function readHead(db: Db): Promise<ChainHead | null> {
  const row = await db
    .selectFrom('events_head')
    .select(['position', 'hash'])
    .where('id', '=', 1)
    .executeTakeFirst();
  return row && row.hash !== null ? { position: row.position, hash: row.hash } : null;
}

/** Another replica may have signed the same head concurrently: one of the two is enough. */
export async function insertCheckpoint(tx: Tx, row: CheckpointRow): Promise<void> {
  await tx
    .insertInto('event_checkpoints')
    .values(row)
    .onConflict((conflict) => conflict.column('position').doNothing())
    .execute();
}

export async function newestCheckpoint(db: Db): Promise<CheckpointRow | null> {
  return (await newestCheckpoints(db, 1))[0] ?? null;
}

/** Newest first. */
export async function newestCheckpoints(db: Db, limit: number): Promise<CheckpointRow[]> {
  return db.selectFrom('event_checkpoints').selectAll().orderBy('position', 'desc').limit(limit).execute();
}

/** The newest of a part of the log, newest first; from `after` (exclusive) to `until` (inclusive). */
export async function checkpointsBetween(
  db: Db,
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<CheckpointRow[]> {
  return db
    .selectFrom('event_checkpoints')
    .selectAll()
    .where('position', '>', after)
    .where('position', '<=', until)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
}

/** Where the log begins; null while nothing was pruned. */
export async function newestAnchor(db: Db): Promise<AnchorRow | null> {
  return (await newestAnchors(db, 1))[0] ?? null;
}

/** Newest first. */
export async function newestAnchors(db: Db, limit: number): Promise<AnchorRow[]> {
  return db.selectFrom('event_anchors').selectAll().orderBy('position', 'desc').limit(limit).execute();
}

/** The newest checkpoint that was signed before this time. */
export async function checkpointBefore(db: Db, ms: number): Promise<CheckpointRow | null> {
  const query = db.selectFrom('event_checkpoints').selectAll().where('created_at', '<', ms);
  return (await query.orderBy('position', 'desc').limit(1).executeTakeFirst()) ?? null;
}

/** The contents of the newest events of a type, newest first, as stored text. */
export async function contentsOfType(db: Db, type: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('events')
    .select('content')
    .where('type', '=', type)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ content }) => content);
}

export async function oldestEvent(db: Db): Promise<Pick<EventRow, 'position' | 'created_at'> | null> {
  const query = db.selectFrom('events').select(['position', 'created_at']).orderBy('position').limit(1);
  return (await query.executeTakeFirst()) ?? null;
}

/**
 * The checkpoint up to which the log may be pruned: the newest one older than the step, or else the first one
 * after the position, if it is older than the retention. All events up to a checkpoint are older than it.
 */
export async function nextAnchor(
  db: Db,
  { after, stepMs, keptSinceMs }: { after: number; stepMs: number; keptSinceMs: number },
): Promise<CheckpointRow | null> {
  const behind = db.selectFrom('event_checkpoints').selectAll().where('position', '>', after).limit(1);
  const inStep = behind.where('created_at', '<=', stepMs).orderBy('position', 'desc');
  const found = await inStep.executeTakeFirst();
  if (found) return found;
  const first = await behind.orderBy('position').executeTakeFirst();
  return first && first.created_at <= keptSinceMs ? first : null;
}

export async function insertAnchor(tx: Tx, row: AnchorRow): Promise<void> {
  await tx.insertInto('event_anchors').values(row).execute();
}

export async function deleteEventsUpTo(tx: Tx, position: number): Promise<number> {
  const result = await tx.deleteFrom('events').where('position', '<=', position).executeTakeFirst();
  return Number(result.numDeletedRows);
}

export async function deleteCheckpointsBefore(tx: Tx, position: number): Promise<void> {
  await tx.deleteFrom('event_checkpoints').where('position', '<', position).execute();
}

/** Of SQLite: a walk reads each page of the file once, and a cache would only take memory. */
export async function readWithoutCache(db: Db): Promise<void> {
  for (const pragma of ['PRAGMA cache_size = -2000', 'PRAGMA mmap_size = 0'])
    await sql.raw(pragma).execute(db);
}

/** In the order of the log; positions from `after` (exclusive) to `until` (inclusive). */
export async function pageOfEvents(
  db: Db,
  { after, until, limit }: { after: number; until: number | null; limit: number },
): Promise<EventRow[]> {
  let query = db.selectFrom('events').selectAll().where('position', '>', after);
  if (until !== null) query = query.where('position', '<=', until);
  return query.orderBy('position').limit(limit).execute();
}

/** An event with its host as it is now. */
export type HostedEvent = ListedEvent & { readonly group_name: string | null };

/** Like `pageOfEvents`, of these types (null: of all) and severities, with the groups of their hosts. */
export async function pageOfHostedEvents(
  db: Db,
  of: {
    after: number;
    until: number;
    types: readonly string[] | null;
    severities: readonly string[];
    limit: number;
  },
): Promise<HostedEvent[]> {
  let query = withHosts(db)
    .select('a.group_name')
    .where('e.position', '>', of.after)
    .where('e.position', '<=', of.until)
    .where('e.severity', 'in', of.severities);
  if (of.types !== null) query = query.where('e.type', 'in', of.types);
  return query.orderBy('e.position').limit(of.limit).execute();
}

/** The position of the last event before this time; 0 if there is none. It walks the log back to that time. */
export async function positionBefore(db: Db, atMs: number): Promise<number> {
  const query = db.selectFrom('events').select('position').where('created_at', '<', atMs);
  return (await query.orderBy('position', 'desc').limit(1).executeTakeFirst())?.position ?? 0;
}

export async function findEvent(db: Db, id: string): Promise<ListedEvent | null> {
  return (await withHosts(db).where('e.id', '=', id).executeTakeFirst()) ?? null;
}

/** Events with the names of their hosts. */
export function withHosts(db: Db) {
  return db
    .selectFrom('events as e')
    .leftJoin('agents as a', 'a.id', 'e.agent_id')
    .selectAll('e')
    .select('a.hostname');
}

/** The events that a caller means: a filter, within the caller's scope. */
export interface EventSelection {
  filter: EventFilter;
  scope: GroupScope;
}

/** Newest first; `before` is the position of the last event of the previous page. */
export async function listEvents(
  db: Db,
  { limit, before, ...selection }: EventSelection & { limit: number; before: number | null },
): Promise<EventRow[]> {
  let query = filtered(db, selection).selectAll().orderBy('position', 'desc').limit(limit);
  if (before !== null) query = query.where('position', '<', before);
  return query.execute();
}

/** The content of the newest events of one agent and component, newest first, as stored text. */
export async function newestContents(
  db: Db,
  { agentId, component, limit }: { agentId: string; component: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('events')
    .select('content')
    .where('agent_id', '=', agentId)
    .where('component', '=', component)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ content }) => content);
}

/** The events of a type about one host in a time, the oldest first. */
export async function eventsOfHost(
  db: Db,
  of: { agentId: string; type: string; sinceMs: number; untilMs: number; limit: number },
): Promise<EventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('agent_id', '=', of.agentId)
    .where(anyIndexBut('type'), '=', of.type)
    .where('created_at', '>=', of.sinceMs)
    .where('created_at', '<=', of.untilMs)
    .orderBy('position')
    .limit(of.limit)
    .execute();
}

function filtered(db: Db, { filter, scope }: EventSelection) {
  let query = db.selectFrom('events');
  // Only operators of the whole fleet see events without a host.
  if (scope !== null) query = query.where(agentInScope(scope, 'agent_id'));
  if (filter.kind === 'security' || filter.kind === 'system') query = query.where('kind', '=', filter.kind);
  if (filter.type !== undefined) query = query.where('type', '=', filter.type);
  if (filter.severity !== undefined) query = query.where('severity', '=', filter.severity);
  if (filter.component !== undefined) query = query.where('component', '=', filter.component);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.sinceMs !== undefined) query = query.where('created_at', '>=', filter.sinceMs);
  if (filter.untilMs !== undefined) query = query.where('created_at', '<', filter.untilMs);
  return query;
}
