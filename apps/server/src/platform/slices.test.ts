import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { databaseOptions } from '../testing/database-options.ts';
import { openSqlite } from './db/sqlite.ts';
import { createSlices, type Loop, SLICE_MS } from './slices.ts';

/** A loop with manual turns. */
function createLoop() {
  let nowMs = 0;
  let events = 0;
  const waiting: (() => void)[] = [];
  const loop: Loop = {
    nowMs: () => nowMs,
    nextTurn: () => new Promise<void>((resolve) => waiting.push(resolve)),
    events: () => events,
  };
  return {
    loop,
    advance: (ms: number) => {
      nowMs += ms;
    },
    /** Turns once, with the given number of ready events. */
    async turn(ready = 0) {
      events += ready;
      for (const resolve of waiting.splice(0)) resolve();
      await nextTurn();
    },
  };
}

/** Uses up this turn, and requests another slice; `went` records which piece continued. */
function useUp(slices: ReturnType<typeof createSlices>, { advance }: { advance: (ms: number) => void }) {
  const went: string[] = [];
  expect(slices.turn()).toBeNull();
  advance(SLICE_MS);
  const ask = (name: string, ms = 0) =>
    slices.turn()?.then(() => {
      went.push(name);
      advance(ms);
    });
  return { ask, went };
}

test('work in a young turn does not wait; in an old one it waits until the loop has turned', async () => {
  const { loop, advance, turn } = createLoop();
  const slices = createSlices(loop);
  expect(slices.turn()).toBeNull();
  advance(SLICE_MS - 0.1);
  expect(slices.turn()).toBeNull();
  advance(0.1);
  const next = slices.turn();
  expect(next).toBeInstanceOf(Promise);
  await turn();
  await turn();
  await next;
  expect(slices.turn()).toBeNull();
});

test('a turn that ended by itself starts the next one anew', async () => {
  const { loop, advance, turn } = createLoop();
  const slices = createSlices(loop);
  slices.turn();
  await turn();
  advance(1_000);
  expect(slices.turn()).toBeNull();
});

test('ready events come first, turn by turn, but not for ever', async () => {
  const made = createLoop();
  const { ask, went } = useUp(createSlices(made.loop), made);
  ask('work');
  for (let n = 0; n < 5; n++) {
    await made.turn(1);
    made.advance(1);
  }
  expect(went).toEqual([]);
  await made.turn(0);
  expect(went).toEqual(['work']);

  const { ask: askAgain, went: wentAgain } = useUp(createSlices(made.loop), made);
  askAgain('work');
  for (let n = 0; n < 12; n++) {
    await made.turn(1);
    made.advance(1);
  }
  expect(wentAgain).toEqual(['work']);
});

test('waiters continue in order, and together for no longer than a slice', async () => {
  const made = createLoop();
  const { ask, went } = useUp(createSlices(made.loop), made);
  for (const name of ['a', 'b', 'c', 'd']) ask(name, SLICE_MS / 2);
  await made.turn();
  await made.turn();
  expect(went).toEqual(['a', 'b']);
  await made.turn();
  await made.turn();
  expect(went).toEqual(['a', 'b', 'c', 'd']);
});

test('new connections do not each wait for a piece of work, though libuv accepts one per turn', async () => {
  let nowMs = 0;
  const slices = createSlices({
    nowMs: () => nowMs,
    nextTurn: () => nextTurn(),
    events: () => performance.nodeTiming.uvMetricsInfo.events,
  });
  const server = createServer((_, response) => response.end('here'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  // The address of a listening TCP socket is not a path.
  const { port } = server.address() as AddressInfo;
  let pieces = 0;
  let isOver = false;
  async function work() {
    while (!isOver) {
      await slices.turn();
      pieces++;
      nowMs += SLICE_MS;
    }
  }
  const worked = work();
  const answers = Array.from(
    { length: 40 },
    () =>
      new Promise<string>((resolve, reject) => {
        const asked = get({ port, host: '127.0.0.1', agent: false }, (answer) => {
          answer.resume().once('end', () => resolve(String(answer.statusCode)));
        });
        asked.once('error', reject);
      }),
  );
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['200']));
  isOver = true;
  await worked;
  expect(pieces).toBeLessThan(20);
});

test('a long transaction of SQLite lets the loop turn between its statements, without another transaction', async () => {
  const folder = tmpDir('tidegate-slices-');
  // Each reading of the clock advances it by a millisecond: a statement takes one.
  let nowMs = 0;
  let turns = 0;
  const slices = createSlices({
    events: () => 0,
    nowMs: () => nowMs++,
    nextTurn: () =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          turns++;
          resolve();
        }),
      ),
  });
  const database = openSqlite(join(folder.path, 'slices.db'), { ...databaseOptions(), slices });
  onTestFinished(async () => {
    await database.close();
    folder.remove();
  });
  await database.transact((tx) => sql`CREATE TABLE slices (n INTEGER NOT NULL)`.execute(tx));
  const before = turns;
  const long = database.transact(async (tx) => {
    for (let n = 0; n < 100; n++) await sql`INSERT INTO slices VALUES (${n})`.execute(tx);
  });
  const other = database.transact((tx) =>
    sql<{ rows: number }>`SELECT count(*) AS rows FROM slices`.execute(tx),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const seen = await sql<{ rows: number }>`SELECT count(*) AS rows FROM slices`.execute(database.read);
  expect(seen.rows).toEqual([{ rows: 0 }]);
  await long;
  expect((await other).rows).toEqual([{ rows: 100 }]);
  expect(turns - before).toBeGreaterThanOrEqual(100 / SLICE_MS - 1);
});
