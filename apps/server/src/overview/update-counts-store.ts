import { OPEN_STATES } from '@tidegate/protocol/states';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { agentInScope, type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { RECOMMENDED_HERE } from '../updates/offer-rules.ts';

/** Rows per statement: on SQLite nothing else runs meanwhile. */
const STEP_ROWS = 10_000;
/** Hosts per statement. */
const STEP_HOSTS = 500;
export const HOUR_MS = 3_600_000;

/** The number of updates that share these fields. */
export interface UpdateGroup {
  readonly state: string;
  readonly verdict: string | null;
  /** The strictest setting under which known vulnerabilities stop them. */
  readonly stoppedUnder: string | null;
  readonly knownExploited: boolean;
  /** Whether they fix known vulnerabilities. */
  readonly exposed: boolean;
  /** Whether their publisher calls them security updates. */
  readonly security: boolean;
  /** Hour in which they were first reported, since 1970. */
  readonly hour: number;
  readonly updates: number;
}

const GROUP = sql`u.state AS state, u.verdict AS verdict, u.stopped_under AS stopped_under, coalesce(u.known_exploited, 0) AS known_exploited,
  CASE WHEN u.fixes > 0 THEN 1 ELSE 0 END AS exposed, u.security AS security, u.discovered_at / ${sql.lit(HOUR_MS)} AS hour, count(*) AS updates`;
/** Of several versions that wait for one package the recommended one counts, as in lists. */
const IS_COUNTED = sql.raw(`(u.state <> 'pending' OR (u.recommended & ${RECOMMENDED_HERE}) <> 0)`);
const BY_GROUP = sql.raw('GROUP BY 1, 2, 3, 4, 5, 6, 7');

interface Row {
  state: string;
  verdict: string | null;
  stopped_under: string | null;
  known_exploited: number;
  exposed: number;
  security: number;
  hour: number;
  updates: number;
}

/** A part of the open updates of one state, by the time at which they were found. */
interface Step {
  readonly state: string;
  /** Exclusive. */
  readonly after: number;
  /** Null: to the newest. */
  readonly end: number | null;
}

/** All open updates, also of deleted hosts; reads only an index, in parts. */
export async function* openUpdates(db: Db): AsyncGenerator<UpdateGroup[]> {
  for await (const step of openSteps(db)) {
    const { rows } = await groupsOf(step).execute(db);
    yield rows.map(groupOf);
  }
}

export function groupsOf(step: Step): RawBuilder<Row> {
  return sql<Row>`SELECT ${GROUP} FROM updates AS u WHERE ${within(step)} AND ${IS_COUNTED} ${BY_GROUP}`;
}

/** Hosts with an open update that fixes known vulnerabilities, also deleted ones; reads an index and these updates, in parts. */
export async function* exposedHosts(db: Db): AsyncGenerator<string[]> {
  for await (const step of openSteps(db)) {
    const { rows } = await sql<{ agent_id: string }>`SELECT DISTINCT u.agent_id FROM updates AS u
      WHERE ${within(step)} AND u.fixes > 0`.execute(db);
    yield rows.map(({ agent_id }) => agent_id);
  }
}

async function* openSteps(db: Db): AsyncGenerator<Step> {
  for (const state of OPEN_STATES) {
    let after = -1;
    for (;;) {
      const end: number | null = await endOfStep(db, { state, after });
      yield { state, after, end };
      if (end === null) break;
      after = end;
    }
  }
}

function within({ state, after, end }: Step): RawBuilder<SqlBool> {
  const upTo = end === null ? sql`` : sql`AND u.discovered_at <= ${end}`;
  return sql<SqlBool>`u.state = ${state} AND u.discovered_at > ${after} ${upTo}`;
}

async function endOfStep(db: Db, { state, after }: { state: string; after: number }): Promise<number | null> {
  const row = await db
    .selectFrom('updates')
    .select('discovered_at')
    .where('state', '=', state)
    .where('discovered_at', '>', after)
    .orderBy('discovered_at')
    .offset(STEP_ROWS)
    .limit(1)
    .executeTakeFirst();
  return row?.discovered_at ?? null;
}

export async function* deletedHosts(db: Db): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('agents')
      .select('id')
      .where('deleted_at', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(STEP_ROWS)
      .execute();
    yield rows.map(({ id }) => id);
    const last = rows.at(-1);
    if (!last || rows.length < STEP_ROWS) return;
    after = last.id;
  }
}

/** Open updates of some hosts: those in existing groups, or the deleted ones. */
export async function* openUpdatesOf(
  db: Db,
  which: { readonly scope: GroupScope } | 'deleted',
): AsyncGenerator<UpdateGroup[]> {
  let after = '';
  for (;;) {
    let query = db.selectFrom('agents as a').select('a.id').where('a.id', '>', after);
    query =
      which === 'deleted'
        ? query.where('a.deleted_at', 'is not', null)
        : query.where('a.deleted_at', 'is', null).where(groupInScope(which.scope, 'a.group_name'));
    const hosts = await query.orderBy('a.id').limit(STEP_HOSTS).execute();
    const last = hosts.at(-1);
    if (!last) return;
    after = last.id;
    const ids = sql.join(hosts.map(({ id }) => id));
    const { rows } = await sql<Row>`SELECT ${GROUP} FROM updates AS u
      WHERE u.agent_id IN (${ids}) AND u.state IN (${sql.join(OPEN_STATES)})
        AND ${IS_COUNTED} ${BY_GROUP}`.execute(db);
    yield rows.map(groupOf);
  }
}

/** Closed updates among those reported since. */
export async function closedUpdatesSince(
  db: Db,
  { sinceMs, scope }: { sinceMs: number; scope: GroupScope },
): Promise<number> {
  let query = db
    .selectFrom('updates as u')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('u.gone', '=', 0)
    .where('u.state', 'in', ['installed', 'rejected', 'superseded'])
    .where('u.discovered_at', '>=', sinceMs);
  if (scope !== null) query = query.where(agentInScope(scope, 'u.agent_id'));
  return Number((await query.executeTakeFirstOrThrow()).total);
}

function groupOf(row: Row): UpdateGroup {
  return {
    state: row.state,
    verdict: row.verdict,
    stoppedUnder: row.stopped_under,
    knownExploited: row.known_exploited === 1,
    exposed: row.exposed === 1,
    security: row.security === 1,
    hour: Number(row.hour),
    updates: Number(row.updates),
  };
}
