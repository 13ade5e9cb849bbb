import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClock } from '@tidegate/testkit/clock';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { appendEvent } from '../apps/server/src/events/append-event.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { openDatabase } from '../apps/server/src/platform/db/open.ts';
import { servedPlaces } from '../apps/server/src/testing/cli-place.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { ENGINES, type EnginePlace, type TestEngine } from '../apps/server/src/testing/engines.ts';
import { EVENT } from '../apps/server/src/testing/event-chains.ts';
import { believeClock } from '../apps/server/src/testing/jumping-clock.ts';
import { createTestPlatform } from '../apps/server/src/testing/test-platform.ts';
import { logIn } from './harness/operator.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';

const DAY_MS = 86_400_000;
const OLD = 4_000;
/** A position in the middle of the removal. */
const MIDDLE = 2_500;

const served = servedPlaces({ newClock: () => createClock(Date.now() - 60 * DAY_MS) });

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('two servers on one $name', (engine) => {
  test.each<[string, string, number]>([
    ['removes rows', `SELECT 1 FROM events WHERE position = ${MIDDLE} FOR UPDATE`, 2_001],
    ['signs what it will remove', 'LOCK TABLE event_anchors IN EXCLUSIVE MODE', 1],
  ])(
    'the one with the background work stands still while it %s: the other ends it, and nothing is removed twice or too far',
    async (_, hold, oldest) => {
      const { place, database, oldUpTo } = await withOldEvents(engine);
      const before = await positionsOf(database);
      const held = await holding(place, hold);
      const first = await startOn(place, place.dataDir);
      await first.line(/background work begins on this server epoch=1/);
      await held.isWaitedFor();
      process.kill(first.pid, 'SIGSTOP');
      // What it asked for is done in the database, and never committed.
      const pid = await held.letGo();
      expect(await oldestOf(database)).toBe(oldest);

      const second = await startOn(place, copyOf(place.dataDir));
      const operator = await logIn(second.url);
      await second.line(/background work begins on this server epoch=2/);
      await operator.addKey();
      expect(await oldestOf(database)).toBe(oldest);
      // PostgreSQL does so itself after a minute.
      await held.end(pid);
      await expect.poll(() => oldestOf(database)).toBe(oldUpTo + 1);

      process.kill(first.pid, 'SIGCONT');
      await first.line(/another server does the background work now epoch=1/);
      await operator.addKey();
      await first.restart();
      for (const server of [first, second]) {
        const said = await server.command('doctor', '--verify-events');
        expect(said).toContain(`The log of events is intact`);
        expect(said).toMatch(
          new RegExp(`^Events 1 to ${oldUpTo} were removed on \\S+ by server, older than 30 days`, 'm'),
        );
      }
      expect(await oldestOf(database)).toBe(oldUpTo + 1);
      const anchors = await database.read.selectFrom('event_anchors').select('position').execute();
      expect(anchors).toEqual([{ position: oldUpTo }]);
      expect(await operator.events({ type: 'events_pruned' })).toMatchObject([
        { content: { from_position: 1, to_position: oldUpTo, retention_days: 30 } },
      ]);
      // The acts of the meantime.
      expect(await operator.events({ type: 'SIGNING_KEY_ADDED' })).toHaveLength(2);
      const after = await positionsOf(database);
      expect(after.slice(0, before.length - oldUpTo)).toEqual(before.slice(oldUpTo));
    },
  );
});

/** A log with old events that its server signed at that time, and some younger ones. */
async function withOldEvents(engine: TestEngine) {
  const it = await served(engine);
  const database = openDatabase(it, databaseOptions());
  onTestFinished(() => database.close());
  const append = async (count: number) => {
    const platform = createTestPlatform(database, { startMs: it.clock.now(), seed: `at ${it.clock.now()}` });
    await database.transact(async (tx) => {
      for (let n = 0; n < count; n++) await appendEvent(tx, platform, EVENT);
    });
  };
  const sign = () => it.run(['events', 'export', '--out', join(it.dataDir, `at-${it.clock.now()}`)]);
  await append(OLD);
  expect(await sign()).toMatchObject({ code: 0 });
  const [head] = await database.read.selectFrom('events_head').select('position').execute();
  it.clock.advance(40 * DAY_MS);
  await append(20);
  // The servers of the story run weeks later.
  await believeClock({ database, now: Date.now });
  return { place: it, database, oldUpTo: head?.position ?? 0 };
}

/** Has a lock that a server waits for. */
async function holding({ databaseUrl }: EnginePlace, statement: string) {
  if (databaseUrl === null) throw new Error('two servers need PostgreSQL');
  // In a transaction, PostgreSQL shows its activity as it was at the first look: somebody else looks.
  const [holder, watcher] = [0, 1].map(() => new Client({ connectionString: databaseUrl }));
  if (!holder || !watcher) throw new Error('there are two');
  for (const client of [holder, watcher]) {
    await client.connect();
    onTestFinished(() => client.end());
  }
  await holder.query(`BEGIN; ${statement}`);
  const waiting = async (): Promise<number[]> => {
    const query =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    return (await watcher.query<{ pid: number }>(query)).rows.map(({ pid }) => pid);
  };
  return {
    isWaitedFor: () => expect.poll(waiting).toHaveLength(1),
    /** Returns the connection that goes on, once it waits for what its client says next. */
    async letGo(): Promise<number> {
      const [pid = 0] = await waiting();
      await holder.query('COMMIT');
      const stateOf = () => watcher.query('SELECT state FROM pg_stat_activity WHERE pid = $1', [pid]);
      await expect.poll(async () => (await stateOf()).rows).toEqual([{ state: 'idle in transaction' }]);
      return pid;
    },
    end: (pid: number) => watcher.query('SELECT pg_terminate_backend($1)', [pid]),
  };
}

async function startOn({ databaseUrl }: EnginePlace, dataDir: string): Promise<ServerProcess> {
  const env = { SERVICE_ADVISORY_SOURCE: 'off', SERVICE_EVENTS_RETENTION_DAYS: '30' };
  const server = await startServer({ dataDir, databaseUrl, advisoryUrl: 'http://127.0.0.1:9', env });
  onTestFinished(async () => void (await server.kill()));
  return server;
}

function copyOf(dataDir: string): string {
  const folder = tmpDir('tidegate-removal-');
  onTestFinished(() => folder.remove());
  const own = join(folder.path, 'server');
  cpSync(dataDir, own, { recursive: true });
  rmSync(join(own, 'server.lock'), { force: true });
  return own;
}

async function oldestOf({ read }: Database): Promise<number> {
  const query = read.selectFrom('events').select('position').orderBy('position').limit(1);
  return (await query.executeTakeFirstOrThrow()).position;
}

async function positionsOf({ read }: Database): Promise<string[]> {
  const rows = await read.selectFrom('events').select(['position', 'hash']).orderBy('position').execute();
  return rows.map(({ position, hash }) => `${position} ${hash}`);
}
