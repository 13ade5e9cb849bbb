import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { createSlices, SLICE_MS } from './slices.ts';
import { openSqlite } from './sqlite.ts';

/** A loop that is turned by hand, or at once. */
function createLoop() {
  let nowMs = 0;
  let turns = 0;
  const waiting: (() => void)[] = [];
  return {
    clock: { nowMs: () => nowMs, nextTurn: () => new Promise<void>((resolve) => waiting.push(resolve)) },
    advance: (ms: number) => {
      nowMs += ms;
    },
    turns: () => turns,
    async turn() {
      turns++;
      for (const resolve of waiting.splice(0)) resolve();
      await Promise.resolve();
    },
  };
}

test('statements of a young turn do not wait; those of an old one wait for the next turn', async () => {
  const { clock, advance, turn } = createLoop();
  const slices = createSlices(clock);
  expect(slices.turn()).toBeNull();
  advance(SLICE_MS - 0.1);
  expect(slices.turn()).toBeNull();
  advance(0.1);
  const next = slices.turn();
  expect(next).toBeInstanceOf(Promise);
  await turn();
  await next;
  expect(slices.turn()).toBeNull();
});

test('a turn that ended by itself begins the next one anew', async () => {
  const { clock, advance, turn } = createLoop();
  const slices = createSlices(clock);
  slices.turn();
  await turn();
  advance(1_000);
  expect(slices.turn()).toBeNull();
});

test('a long transaction of SQLite lets the loop turn between its statements, and nobody else in', async () => {
  const folder = tmpDir('tidegate-slices-');
  // Each look at the clock finds a millisecond gone: a statement takes one.
  let nowMs = 0;
  let turns = 0;
  const clock = {
    nowMs: () => nowMs++,
    nextTurn: () =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          turns++;
          resolve();
        }),
      ),
  };
  const database = openSqlite(join(folder.path, 'slices.db'), { clock });
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
