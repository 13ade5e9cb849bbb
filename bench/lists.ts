import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { nullable } from '@tidegate/protocol/scalars';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { atRest } from './at-rest.ts';
import { BENCH_PASSWORD, BENCH_USER, postmasterOf } from './fleet.ts';
import { type FleetSize, makeListFleet } from './list-fleet.ts';
import { A_HOST, deepPages, firstPages, LIST_NAMES, type ListQuery } from './list-queries.ts';
import { type Call, logIn } from './operator-client.ts';
import { cpuClock, cpuOf, median, pinLoad, SERVER_CORE, startServerProcess } from './processes.ts';
import { serverProgram } from './program.ts';
import type { BenchOptions } from './run.ts';

/** Pages of ROWS_OF_PAGE rows that are skipped before the "deep" page. */
const PAGES_SKIPPED = 10;
const ROWS_OF_PAGE = 200;
const GOAL_MS = { median: 100, p99: 300 };
const SLOWEST = 12;
/** What the operator guide and `tidegate doctor` ask of PostgreSQL beyond so many hosts; below it has its own default. */
const LARGE_FLEET = { hosts: 50_000, settings: { shared_buffers: '512MB' } };
/** A server that changes nothing for so long counts as idle. */
const QUIET_MS = 3_000;

const Page = Type.Object({ next_cursor: nullable(Type.String()) });
const Hosts = Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) });

interface Timing {
  wallMs: number;
  serverMs: number;
  /** CPU of the server's main thread, which runs SQLite, and of PostgreSQL's processes. */
  cpuMs: number;
}

export interface Timed extends ListQuery {
  page: 'first' | 'deep';
  timings: Timing[];
}

/** The lists of the console over a large fleet: every filter with every sort, first pages and deep ones. */
export async function benchLists(options: BenchOptions & FleetSize): Promise<Record<string, unknown>> {
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) result[engine] = await benchEngine(engine, options);
  return result;
}

async function benchEngine(engine: 'sqlite' | 'postgres', options: BenchOptions & FleetSize) {
  return withListFleet(engine, options, async (place, made) => ({
    ...made,
    ...(await timeLists(place, options)),
  }));
}

/** Where a server finds a fleet of lists; `tidy` leaves the database as an old one. */
export interface ListPlace {
  dataDir: string;
  databaseUrl: string | null;
  tidy: () => Promise<void>;
}

/** Fills a database, and removes it after the work. */
export async function withListFleet<T>(
  engine: 'sqlite' | 'postgres',
  options: FleetSize & Pick<BenchOptions, 'say'>,
  work: (place: ListPlace, made: { filledMs: number }) => Promise<T>,
): Promise<T | { missing: string }> {
  const folder = tmpDir('tidegate-bench-');
  const settings = options.hosts > LARGE_FLEET.hosts ? LARGE_FLEET.settings : {};
  const postgres = engine === 'postgres' ? await startPostgres({ cpu: SERVER_CORE, settings }) : null;
  if (postgres && 'missing' in postgres) return postgres;
  const databaseUrl = postgres ? await postgres.createDatabase() : null;
  try {
    const database = databaseUrl
      ? openPostgres(databaseUrl, databaseOptions())
      : openSqlite(join(folder.path, 'tidegate.db'), databaseOptions());
    const made = await makeListFleet(database, options);
    options.say(`${engine}: ${JSON.stringify(made)}`);
    const budget = { class: 'admin_reads', requests: 100_000, window_seconds: 60, enabled: 1, updated_at: 1 };
    await database.transact((tx) => tx.insertInto('rate_limits').values(budget).execute());
    const place = { dataDir: folder.path, databaseUrl, tidy: () => tidyUp(database) };
    return await work(place, made).finally(() => database.close());
  } finally {
    await postgres?.stop();
    folder.remove();
  }
}

/**
 * Waits until the server changes nothing more, and then vacuums and analyzes, as PostgreSQL itself would within a
 * minute. SQLite has no statistics here, as on real servers.
 */
async function tidyUp({ engine, read }: Database): Promise<void> {
  if (engine === 'sqlite') return;
  for (;;) {
    await sql`VACUUM ANALYZE`.execute(read);
    await setTimeout(QUIET_MS);
    const { rows } = await sql<{ changed: number }>`SELECT sum(n_mod_since_analyze)::bigint AS changed
      FROM pg_stat_user_tables WHERE relname IN ('updates', 'agents')`.execute(read);
    if (rows[0]?.changed === 0) return;
  }
}

/** Starts a server on a database with a fleet, and waits until it has nothing to do. */
export async function withListServer<T>(
  { dataDir, databaseUrl, tidy }: ListPlace,
  work: (of: ListServer) => Promise<T>,
): Promise<T> {
  const server = await startServerProcess(await serverProgram(), {
    env: {
      SERVICE_DATA_DIR: dataDir,
      SERVICE_HOST: '127.0.0.1',
      SERVICE_PORT: '0',
      SERVICE_ADVISORY_SOURCE: 'off',
      SERVICE_ADMIN_USERNAME: BENCH_USER,
      SERVICE_ADMIN_PASSWORD: BENCH_PASSWORD,
      ...(databaseUrl ? { SERVICE_DATABASE_URL: databaseUrl } : {}),
    },
  });
  try {
    const clock = cpuClock(server.pid, databaseUrl ? postmasterOf(databaseUrl) : null);
    const serverClock = cpuClock(server.pid, null);
    const call = await logIn(server.url);
    await tidy();
    await atRest(() => cpuOf(server.pid));
    return await work({ call, clock, serverClock, pid: server.pid });
  } finally {
    await server.stop();
  }
}

export interface ListServer {
  call: Call;
  /** With PostgreSQL's processes, and without. */
  clock: () => () => number;
  serverClock: () => () => number;
  pid: number;
}

/** Times every list of a server that is started on a database with a fleet. */
async function timeLists(
  place: ListPlace,
  { rounds, say, list: only }: Pick<BenchOptions, 'rounds' | 'say' | 'list'>,
): Promise<Record<string, unknown>> {
  const names = LIST_NAMES.filter((name) => only === undefined || name === only);
  return withListServer(place, async (server) => {
    const summary: Record<string, unknown> = {};
    for (const list of names) {
      const timed = await timeList(server, { rounds, list });
      for (const page of ['first', 'deep'] as const) {
        const figures = summaryOf(timed.filter((one) => one.page === page));
        summary[`${list} (${page})`] = figures;
        say(`${list} (${page}): ${JSON.stringify(figures)}`);
      }
    }
    return summary;
  });
}

export async function timeList(
  { call, clock, serverClock }: ListServer,
  { rounds, list }: { rounds: number; list: string },
): Promise<Timed[]> {
  const timed: Timed[] = [];
  const [host] = Value.Parse(Hosts, await call('GET', '/api/v1/agents?limit=1')).items;
  async function get(path: string): Promise<{ timing: Timing; next: string | null }> {
    const [serverMs, cpuMs, began] = [serverClock(), clock(), performance.now()];
    const body = await call('GET', `/api/v1/${path.replace(A_HOST, host?.id ?? '')}`);
    const timing = { wallMs: performance.now() - began, serverMs: serverMs(), cpuMs: cpuMs() };
    return { timing, next: Value.Parse(Page, body).next_cursor };
  }
  async function time(query: ListQuery, path: string, page: Timed['page']): Promise<void> {
    const timings: Timing[] = [];
    for (let round = 0; round < rounds; round++) timings.push((await get(path)).timing);
    timed.push({ ...query, page, timings });
  }
  for (const one of firstPages().filter((query) => query.list === list))
    await time(one, `${one.list}?${one.query}`, 'first');
  for (const one of deepPages().filter((query) => query.list === list)) {
    let behind = '';
    for (let skipped = 0; skipped < PAGES_SKIPPED; skipped++) {
      const { next } = await get(`${one.list}?limit=${ROWS_OF_PAGE}&${one.query}${behind}`);
      if (next === null) break;
      behind = `&cursor=${next}`;
    }
    if (behind !== '') await time(one, `${one.list}?${one.query}${behind}`, 'deep');
  }
  return timed;
}

function summaryOf(timed: readonly Timed[]) {
  const figures = (key: keyof Timing) => {
    const all = timed.flatMap(({ timings }) => timings.map((one) => one[key])).toSorted((a, b) => a - b);
    const p99 = all[Math.min(all.length - 1, Math.floor(all.length * 0.99))] ?? 0;
    return { median: rounded(median(all)), p99: rounded(p99), max: rounded(all.at(-1) ?? 0) };
  };
  const queries = timed
    .map(({ query, timings }) => ({
      query,
      cpu: rounded(median(timings.map(({ cpuMs }) => cpuMs))),
      wall: rounded(median(timings.map(({ wallMs }) => wallMs))),
    }))
    .toSorted((a, b) => b.cpu - a.cpu);
  return {
    queries: timed.length,
    cpu_ms: figures('cpuMs'),
    wall_ms: figures('wallMs'),
    over_100: queries.filter(({ cpu }) => cpu > GOAL_MS.median).length,
    over_300: queries.filter(({ cpu }) => cpu > GOAL_MS.p99).length,
    slowest: queries.slice(0, SLOWEST),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
