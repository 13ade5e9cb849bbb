import type { StreamTopic } from '@tidegate/protocol/stream-api';
import { sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import type { EventMark } from './topic-rules.ts';

/** Tables whose rows have an indexed column with the time of their last write. */
export const WATCHED_ROWS = [
  { topic: 'updates', table: 'updates', column: 'updated_at' },
  { topic: 'updates', table: 'updates', column: 'judged_at' },
  { topic: 'commands', table: 'agent_commands', column: 'changed_at' },
] as const;
export type WatchedRows = (typeof WATCHED_ROWS)[number];

/** Numbers about rows written since a time: any change of the rows changes at least one of them. */
export interface Written {
  readonly rows: number;
  readonly newestMs: number;
  readonly spreadMs: number;
}

/** Reads only the index. */
export async function writtenSince(
  db: Db,
  { table, column }: WatchedRows,
  sinceMs: number,
): Promise<Written> {
  const at = sql.ref(column);
  const { rows } = await sql<{ rows: number; newest: number | null; spread: number | string | null }>`
    SELECT count(*) AS rows, max(${at}) AS newest, sum(${at} - ${sql.lit(sinceMs)}) AS spread
    FROM ${sql.table(table)} WHERE ${at} >= ${sinceMs}`.execute(db);
  const [row] = rows;
  return {
    rows: Number(row?.rows ?? 0),
    newestMs: Number(row?.newest ?? 0),
    spreadMs: Number(row?.spread ?? 0),
  };
}

export async function idsWrittenSince(
  db: Db,
  { table, column }: WatchedRows,
  { sinceMs, limit }: { sinceMs: number; limit: number },
): Promise<{ id: string; atMs: number }[]> {
  const at = sql.ref(column);
  const { rows } = await sql<{ id: string; at: number }>`
    SELECT id, ${at} AS at FROM ${sql.table(table)} WHERE ${at} >= ${sinceMs} LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({ id: row.id, atMs: row.at }));
}

/** The contents of small tables, and of what waits in the outbox, which is bounded: the text of a topic differs after each change. */
export type Marks = Readonly<
  Record<Extract<StreamTopic, 'keys' | 'advisories' | 'bulk' | 'notifications'>, string>
>;

export async function readMarks(db: Db): Promise<Marks & { readonly eventsHead: number }> {
  const { rows } = await sql<Record<'head' | keyof typeof MARKS, number | string | null>>`
    SELECT (SELECT max(position) FROM events_head) AS head, ${sql.join(
      Object.entries(MARKS).map(([name, mark]) => sql`(${sql.raw(mark)}) AS ${sql.ref(name)}`),
    )}`.execute(db);
  const [row] = rows;
  const text = (...names: (keyof typeof MARKS)[]) => names.map((name) => row?.[name] ?? '').join(' ');
  return {
    eventsHead: Number(row?.head ?? 0),
    keys: text('keys', 'key_in_use', 'keys_revoked', 'key_set'),
    advisories: text('snapshots', 'newest_load', 'feeds', 'stretches'),
    bulk: text('runs', 'newest_run', 'runs_done'),
    notifications: text(
      ...(['channels', 'channels_changed', 'channels_paused', 'rules', 'rules_changed'] as const),
      ...(['newest_delivery', 'newest_end', 'waiting', 'waiting_tries'] as const),
    ),
  };
}

const MARKS = {
  keys: 'SELECT max(version) FROM signing_keys',
  key_in_use: 'SELECT sum(version * in_use) FROM signing_keys',
  keys_revoked: 'SELECT count(revoked_at) FROM signing_keys',
  key_set: 'SELECT max(version) FROM key_sets',
  snapshots: 'SELECT count(*) FROM mirror_snapshots',
  newest_load: 'SELECT max(load_id) FROM mirror_snapshots',
  feeds: 'SELECT sum(fetched_at) FROM exploited_feeds',
  stretches: 'SELECT count(*) FROM advisory_stretches',
  runs: 'SELECT count(*) FROM bulk_runs',
  newest_run: 'SELECT max(updated_at) FROM bulk_runs',
  runs_done: 'SELECT sum(done) FROM bulk_runs',
  channels: 'SELECT count(*) FROM notification_channels',
  channels_changed: 'SELECT sum(updated_at + failures) FROM notification_channels',
  channels_paused: 'SELECT sum(paused_until) FROM notification_channels',
  rules: 'SELECT count(*) FROM notification_rules',
  rules_changed: 'SELECT sum(updated_at) FROM notification_rules',
  newest_delivery: 'SELECT max(id) FROM notification_deliveries',
  newest_end: 'SELECT max(ended_at) FROM notification_deliveries WHERE ended_at IS NOT NULL',
  waiting: "SELECT count(*) FROM notification_deliveries WHERE state = 'waiting'",
  waiting_tries: "SELECT sum(attempts) FROM notification_deliveries WHERE state = 'waiting'",
} as const;

/** In the order of the log, from `after` (exclusive). */
export async function eventsAfter(
  db: Db,
  { after, limit }: { after: number; limit: number },
): Promise<(EventMark & { position: number })[]> {
  return db
    .selectFrom('events')
    .select(['position', 'id', 'type', 'agent_id'])
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .execute();
}
