import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_SORTS, HOST_STATUSES } from '@tidegate/protocol/agents-api';
import { PACKAGE_SORTS, UPDATE_SORTS } from '@tidegate/protocol/updates-api';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { MIGRATIONS } from '../apps/server/src/migrations/migrations.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { BENCH_PASSWORD, BENCH_USER } from './fleet.ts';
import { type FleetSize, fillLists, hostId } from './list-fleet.ts';
import { median, pinLoad, SERVER_CORE, startServerProcess } from './processes.ts';
import type { BenchOptions } from './run.ts';

const MAIN = join(import.meta.dirname, '../apps/server/src/main.ts');
/** Pages that are turned before one that counts as deep. */
const PAGES_TURNED = 5;
const GOAL_MS = { median: 100, p99: 300 };

interface Cell {
  list: string;
  query: string;
}

interface Timing {
  wallMs: number;
  /** Of the thread that serves, which has SQLite in it. */
  cpuMs: number;
}

/** The lists of the console over a large fleet: every filter with every sort, first pages and deep ones. */
export async function benchLists(options: BenchOptions & FleetSize): Promise<Record<string, unknown>> {
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) result[engine] = await benchEngine(engine, options);
  return result;
}

async function benchEngine(engine: 'sqlite' | 'postgres', options: BenchOptions & FleetSize) {
  const folder = tmpDir('tidegate-bench-');
  const postgres = engine === 'postgres' ? await startPostgres({ cpu: SERVER_CORE }) : null;
  if (postgres && 'missing' in postgres) return postgres;
  const databaseUrl = postgres ? await postgres.createDatabase() : null;
  try {
    const database = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(folder.path, 'tidegate.db'));
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    const began = performance.now();
    await prepare(database, options);
    options.say(`${engine}: filled in ${Math.round(performance.now() - began)} ms`);
    await database.close();
    const server = await startServerProcess(MAIN, {
      env: {
        SERVICE_DATA_DIR: folder.path,
        SERVICE_HOST: '127.0.0.1',
        SERVICE_PORT: '0',
        SERVICE_ADVISORY_SOURCE: 'off',
        SERVICE_ADMIN_USERNAME: BENCH_USER,
        SERVICE_ADMIN_PASSWORD: BENCH_PASSWORD,
        ...(databaseUrl ? { SERVICE_DATABASE_URL: databaseUrl } : {}),
      },
    });
    try {
      return await measure(server, options);
    } finally {
      await server.stop();
    }
  } finally {
    await postgres?.stop();
    folder.remove();
  }
}

async function prepare(database: Database, size: FleetSize): Promise<void> {
  await fillLists(database, size);
  const budget = { class: 'admin_reads', requests: 100_000, window_seconds: 60, enabled: 1, updated_at: 1 };
  await database.transact((tx) => tx.insertInto('rate_limits').values(budget).execute());
  // What PostgreSQL does by itself within a minute; SQLite is left without statistics, as servers leave it.
  if (database.engine === 'postgres') await sql`VACUUM ANALYZE`.execute(database.read);
}

async function measure({ url, pid }: { url: string; pid: number }, { rounds, say }: BenchOptions) {
  const token = await logIn(url);
  async function get(path: string): Promise<{ timing: Timing; body: { next_cursor: string | null } }> {
    const [cpuBefore, began] = [cpuNs(pid), performance.now()];
    const answer = await fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
    const body: unknown = await answer.json();
    const timing = { wallMs: performance.now() - began, cpuMs: (cpuNs(pid) - cpuBefore) / 1e6 };
    if (answer.status !== 200 || !isPage(body)) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return { timing, body };
  }
  const timed: { cell: string; list: string; timings: Timing[] }[] = [];
  async function time(cell: Cell, path: string, page: string): Promise<void> {
    const timings: Timing[] = [];
    for (let round = 0; round < rounds; round++) timings.push((await get(path)).timing);
    timed.push({ cell: `${path.slice(0, 120)} (${page})`, list: cell.list, timings });
  }
  for (const cell of cells()) await time(cell, `${cell.list}?${cell.query}`, 'first');
  for (const cell of deepCells()) {
    let path = `${cell.list}?limit=200&${cell.query}`;
    for (let turned = 0; turned < PAGES_TURNED; turned++) {
      const { body } = await get(path);
      if (body.next_cursor !== null) path = `${cell.list}?limit=200&${cell.query}&cursor=${body.next_cursor}`;
    }
    await time(cell, path, 'deep');
  }
  const summary = Object.fromEntries(
    ['agents', 'updates', 'packages', 'commands', 'events'].map((list) => {
      const of = timed.filter((one) => one.list === list);
      return [list, summaryOf(of)];
    }),
  );
  for (const [list, figures] of Object.entries(summary)) say(`${list}: ${JSON.stringify(figures)}`);
  return summary;
}

function summaryOf(of: readonly { cell: string; timings: readonly Timing[] }[]) {
  const all = (key: keyof Timing) =>
    of.flatMap(({ timings }) => timings.map((one) => one[key])).toSorted((a, b) => a - b);
  const p99 = (values: readonly number[]) =>
    values[Math.min(values.length - 1, Math.floor(values.length * 0.99))] ?? 0;
  const slowest = of
    .map(({ cell, timings }) => ({
      cell,
      wall_ms: rounded(median(timings.map(({ wallMs }) => wallMs))),
      cpu_ms: rounded(median(timings.map(({ cpuMs }) => cpuMs))),
    }))
    .toSorted((a, b) => b.cpu_ms + b.wall_ms / 1_000 - a.cpu_ms - a.wall_ms / 1_000);
  return {
    cells: of.length,
    wall_ms: { median: rounded(median(all('wallMs'))), p99: rounded(p99(all('wallMs'))) },
    cpu_ms: { median: rounded(median(all('cpuMs'))), p99: rounded(p99(all('cpuMs'))) },
    over_goal: slowest.filter(({ cpu_ms }) => cpu_ms > GOAL_MS.median).length,
    slowest: slowest.slice(0, 12),
  };
}

function cells(): Cell[] {
  const updates = ['', ...UPDATE_FILTERS].flatMap((filter) =>
    UPDATE_SORTS.map((sort) => ({ list: 'updates', query: queryOf(filter, `sort=-${sort}`) })),
  );
  const packages = ['', ...UPDATE_FILTERS].flatMap((filter) =>
    PACKAGE_SORTS.map((sort) => ({ list: 'packages', query: queryOf(filter, `sort=-${sort}`) })),
  );
  const hosts = ['', ...HOST_FILTERS].flatMap((filter) =>
    AGENT_SORTS.map((sort) => ({ list: 'agents', query: queryOf(filter, `sort=-${sort}`) })),
  );
  const events = ['', ...EVENT_FILTERS].flatMap((filter) =>
    both(['created_at']).map((sort) => ({ list: 'events', query: queryOf(filter, sort) })),
  );
  return [...hosts, ...updates, ...packages, ...events];
}

/** Each sort in both directions without a filter, and each filter in the usual order. */
function deepCells(): Cell[] {
  const of = (list: string, fields: readonly string[], filters: readonly string[]) =>
    [...both(fields), ...filters].map((query) => ({ list, query }));
  return [
    ...of('agents', AGENT_SORTS, HOST_FILTERS),
    ...of('updates', UPDATE_SORTS, UPDATE_FILTERS),
    ...of('packages', PACKAGE_SORTS, UPDATE_FILTERS),
    ...of('events', ['created_at'], EVENT_FILTERS),
  ];
}

const UPDATE_FILTERS = [
  'state=pending',
  'state=failed',
  'ecosystem=pypi',
  'name=package-0',
  'name=package-4000',
  'q=age-77',
  'q=package',
  'q=nothing',
  `agent_id=${hostId(5)}`,
  'group=group-7',
  'severity=critical',
  'severity=low',
  'verdict=vulnerable',
  'verdict=unchecked',
  'security=true',
  'exploited=true',
  'os=debian',
  'os=alpine',
  'host=web-1*',
  'host=*99*',
  'since=2026-11-17T00:00:00Z',
  'until=2026-11-02T00:00:00Z',
  'state=pending&severity=critical&ecosystem=npm',
  'state=installed&verdict=unchecked&security=true',
];
const HOST_FILTERS = [
  'q=web-77',
  'q=nothing',
  'os=alpine',
  'os=debian',
  'ecosystem=pypi',
  'agent_version=0.9.0',
  'group=group-7',
  ...HOST_STATUSES.map((status) => `status=${status}`),
];
const EVENT_FILTERS = [
  'kind=security',
  'type=LOGIN_FAILED',
  'severity=critical',
  'component=approvals',
  `agent_id=${hostId(6)}`,
  'q=blocked',
  'q=nothing',
  'since=2026-11-08T00:00:00Z',
  'until=2026-11-02T00:00:00Z',
  'kind=system&severity=critical',
];

function both(fields: readonly string[]): string[] {
  return fields.flatMap((field) => [`sort=${field}`, `sort=-${field}`]);
}

function queryOf(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('&');
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function cpuNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ', 1)[0]);
}

function isPage(body: unknown): body is { next_cursor: string | null } {
  return body !== null && typeof body === 'object' && 'next_cursor' in body;
}

async function logIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: BENCH_USER, password: BENCH_PASSWORD }),
  });
  const body: unknown = await answer.json();
  if (body !== null && typeof body === 'object' && 'token' in body) return String(body.token);
  throw new Error(`the login failed: ${JSON.stringify(body)}`);
}
