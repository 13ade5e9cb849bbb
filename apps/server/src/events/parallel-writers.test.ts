import { describe, expect, test } from 'vitest';
import type { Tx } from '../platform/db/engine.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { pageOfEvents, readHead } from './store.ts';
import { verifyDatabase } from './verify-database.ts';

const WRITERS = 50;
const EVENT = {
  kind: 'system',
  type: 'client_error',
  severity: 'info',
  component: 'console',
} as const;

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  const append = (tx: Tx, n: number) => appendEvent(tx, platform, { ...EVENT, content: { n } });
  const inParallel = (work: (tx: Tx, n: number) => Promise<void>) =>
    Promise.allSettled(Array.from({ length: WRITERS }, (_, n) => database.transact((tx) => work(tx, n))));
  const walk = () =>
    verifyDatabase(database.read, { trusted: { keys: [], revokedAtMs: new Map() }, lines: [], heads: [] });
  const written = async () => {
    const rows = await pageOfEvents(database.read, { after: 0, until: null, limit: 1_000 });
    return rows.map((row): unknown => JSON.parse(row.content).n);
  };
  return { platform, database, append, inParallel, walk, written };
}

/** Locks a row like the acts that events record: the tests have no other use for the limits. */
async function touch(tx: Tx, n: number): Promise<void> {
  const row = { class: `class-${n % 3}`, requests: n, window_seconds: 60, enabled: 1, updated_at: n };
  await tx
    .insertInto('rate_limits')
    .values(row)
    .onConflict((conflict) => conflict.column('class').doUpdateSet({ requests: n }))
    .execute();
}

const sorted = (values: unknown[]) => values.toSorted((a, b) => Number(a) - Number(b));
const everyone = Array.from({ length: WRITERS }, (_, n) => n);

describe.each(ENGINES)('50 writers at once on $name', (engine) => {
  test('each event is in the chain once', async () => {
    const { append, inParallel, walk, written } = await open(engine);
    await inParallel(async (tx, n) => {
      await append(tx, n);
    });
    expect(sorted(await written())).toEqual(everyone);
    expect(await walk()).toMatchObject({ fault: null, rows: WRITERS });
  });

  test('acts that lock a row before the head, and acts that lock it after: none is lost to a deadlock', async () => {
    const { append, inParallel, walk, written } = await open(engine);
    const outcomes = await inParallel(async (tx, n) => {
      if (n % 2 === 0) await touch(tx, n);
      await append(tx, n);
      if (n % 2 === 1) await touch(tx, n);
    });
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toEqual([]);
    expect(sorted(await written())).toEqual(everyone);
    expect(await walk()).toMatchObject({ fault: null, rows: WRITERS });
  });

  test('a failing act leaves no gap, whenever it fails', async () => {
    const { append, inParallel, walk, written, database } = await open(engine);
    const outcomes = await inParallel(async (tx, n) => {
      await append(tx, n);
      await append(tx, n);
      if (n % 5 === 0) throw new Error('the act failed');
    });
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(WRITERS / 5);
    const kept = everyone.filter((n) => n % 5 !== 0);
    expect(sorted(await written())).toEqual(kept.flatMap((n) => [n, n]));
    expect(await walk()).toMatchObject({ fault: null, rows: kept.length * 2 });
    expect(await readHead(database.read)).toMatchObject({ position: kept.length * 2 });
  });
});
