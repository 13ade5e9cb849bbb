import { sql } from 'kysely';
import type { Database, Db } from '../platform/db/engine.ts';
import { RECOMMENDED_HERE } from '../updates/offer-rules.ts';

/** Rows per statement: on SQLite nothing else runs meanwhile. */
const STEP_ROWS = 10_000;
/** Events counted in one scrape; the next one counts the rest. */
const EVENTS_MAX = 20_000;
const OPEN_COMMANDS = ['pending', 'sent', 'received', 'running'] as const;

export interface WaitingGroup {
  readonly ecosystem: string;
  readonly severity: string;
  readonly updates: number;
}

/** Waiting updates in parts; reads only an index. Of several versions of a package the recommended one counts. */
export async function* countWaiting(db: Db): AsyncGenerator<WaitingGroup[]> {
  const waiting = sql`FROM updates WHERE state = 'pending' AND gone = 0`;
  for (let after = -1; ; ) {
    const step = await sql<{ end: number }>`SELECT discovered_at AS ${sql.ref('end')} ${waiting}
      AND discovered_at > ${after} ORDER BY discovered_at LIMIT 1 OFFSET ${sql.lit(STEP_ROWS)}`.execute(db);
    const end = step.rows[0]?.end ?? null;
    const upTo = end === null ? sql`` : sql`AND discovered_at <= ${end}`;
    const { rows } = await sql<WaitingGroup>`
      SELECT ecosystem, coalesce(severity, 'not_judged') AS severity, count(*) AS updates ${waiting}
        AND discovered_at > ${after} ${upTo} AND (recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0 GROUP BY 1, 2`.execute(
      db,
    );
    yield rows.map((row) => ({ ...row, updates: Number(row.updates) }));
    if (end === null) return;
    after = end;
  }
}

/** When the oldest waiting update was reported; by index. */
export async function oldestWaitingMs(db: Db): Promise<number | null> {
  const { rows } = await sql<{ at: number }>`SELECT discovered_at AS at FROM updates
    WHERE state = 'pending' AND gone = 0 AND (recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0
    ORDER BY discovered_at LIMIT 1`.execute(db);
  return rows[0]?.at ?? null;
}

export async function countRebootsDue(db: Db): Promise<number> {
  const { total } = await db
    .selectFrom('agent_restarts as r')
    .innerJoin('agents as a', 'a.id', 'r.agent_id')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('r.reboot', '=', 'needed')
    .where('a.deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** Open commands by state, the states without any included; by index. */
export async function countCommands(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('agent_commands')
    .select((e) => ['status', e.fn.countAll<number>().as('total')])
    .where('status', 'in', OPEN_COMMANDS)
    .groupBy('status')
    .execute();
  const found = new Map(rows.map(({ status, total }) => [status, Number(total)]));
  return new Map(OPEN_COMMANDS.map((status) => [status, found.get(status) ?? 0]));
}

/** When the oldest install command that no host has fetched was due; by index. */
export async function oldestUndeliveredMs(db: Db, nowMs: number): Promise<number | null> {
  const row = await db
    .selectFrom('agent_commands')
    .select('not_before')
    .where('status', '=', 'pending')
    .where('action', '=', 'install_update')
    .where('not_before', '<=', nowMs)
    .orderBy('not_before')
    .limit(1)
    .executeTakeFirst();
  return row?.not_before ?? null;
}

export interface CountedEvents {
  readonly types: readonly { readonly type: string; readonly total: number }[];
  /** How far they were counted. */
  readonly until: number;
}

/** Events after a position, by type; at most EVENTS_MAX of them. */
export async function countEventsAfter(db: Db, after: number, head: number): Promise<CountedEvents> {
  const until = Math.min(head, after + EVENTS_MAX);
  const rows = await db
    .selectFrom('events')
    .select((e) => ['type', e.fn.countAll<number>().as('total')])
    .where('position', '>', after)
    .where('position', '<=', until)
    .groupBy('type')
    .execute();
  return { types: rows.map((row) => ({ ...row, total: Number(row.total) })), until };
}

export interface FollowerFacts {
  readonly name: string;
  readonly position: number;
  /** Of the first event after its position; null where there is none. */
  readonly nextAtMs: number | null;
}

export async function followerFacts(db: Db): Promise<FollowerFacts[]> {
  const rows = await db
    .selectFrom('event_followers as f')
    .leftJoin('events as e', (join) => join.on('e.position', '=', sql<number>`f.position + 1`))
    .select(['f.name', 'f.position', 'e.created_at'])
    .orderBy('f.name')
    .execute();
  return rows.map(({ name, position, created_at: nextAtMs }) => ({ name, position, nextAtMs }));
}

export async function advisoryTimes(db: Db): Promise<{ ecosystem: string; asOfMs: number }[]> {
  const rows = await db.selectFrom('mirror_snapshots').select(['base', 'as_of']).orderBy('base').execute();
  return rows.map(({ base, as_of: asOfMs }) => ({ ecosystem: base, asOfMs }));
}

export async function feedTimes(
  db: Db,
): Promise<{ feed: string; fetchedAtMs: number; asOfMs: number | null }[]> {
  const rows = await db
    .selectFrom('exploited_feeds')
    .select(['feed', 'fetched_at', 'as_of'])
    .orderBy('feed')
    .execute();
  return rows.map(({ feed, fetched_at: fetchedAtMs, as_of: asOfMs }) => ({ feed, fetchedAtMs, asOfMs }));
}

export async function databaseBytes({ engine, read }: Pick<Database, 'engine' | 'read'>): Promise<number> {
  const size =
    engine === 'postgres'
      ? sql<{ bytes: number }>`SELECT pg_database_size(current_database()) AS bytes`
      : sql<{
          bytes: number;
        }>`SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()`;
  const { rows } = await size.execute(read);
  return Number(rows[0]?.bytes ?? 0);
}
