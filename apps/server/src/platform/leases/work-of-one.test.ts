import { createClock } from '@tidegate/testkit/clock';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../../testing/engines.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import type { DatabaseOptions, Tx } from '../db/engine.ts';
import type { Platform } from '../platform.ts';
import { createWorkOfOne, LEASE_MS } from './work-of-one.ts';

const TICK_MS = 2;

/** Servers on one database; each stands still when the test says so, and the database has a clock of its own. */
async function open(engine: TestEngine, options: Partial<DatabaseOptions> = {}) {
  const database = await engine.open(options);
  const clock = createClock(Date.UTC(2026, 10, 21, 9));
  let servers = 0;

  function startServer({ isAlone = false } = {}) {
    let gate: PromiseWithResolvers<void> | null = null;
    let underWay = 0;
    let admitted = 0;
    const platform = createTestPlatform(database, { seed: `server ${servers++}` });
    // A process that stands still: its timers and its answers come later.
    const waits: Platform = {
      ...platform,
      database: {
        ...database,
        transact: async (work) => {
          if (admitted > 0) admitted--;
          else await gate?.promise;
          underWay++;
          return database.transact(work).finally(() => underWay--);
        },
      },
    };
    const runs: Platform[] = [];
    let stops = 0;
    const one = createWorkOfOne(waits, {
      ...{ isAlone, renewMs: TICK_MS },
      time: () => sql<number>`CAST(${sql.lit(clock.now())} AS BIGINT)`,
    });
    one.use('counting', (fenced) => ({
      start: () => void runs.push(fenced),
      stop: () => void stops++,
    }));
    one.start?.();
    onTestFinished(async () => {
      gate?.resolve();
      await one.stop();
    });
    return {
      ...{ one, runs, lines: platform.lines },
      stops: () => stops,
      async freeze() {
        gate = Promise.withResolvers();
        await expect.poll(() => underWay, { interval: 1 }).toBe(0);
      },
      /** Lets the next transaction pass, as one that had begun before. */
      admit: () => void admitted++,
      goOn() {
        gate?.resolve();
        gate = null;
      },
      /** The platform of the work that runs. */
      async running(): Promise<Platform> {
        await expect.poll(() => runs.length - stops).toBe(1);
        const last = runs.at(-1);
        if (!last) throw new Error('nothing runs');
        return last;
      },
    };
  }
  return { database, clock, startServer };
}

const NAMED = 'a row';
const write = (name: string) => async (tx: Tx) => {
  const row = { class: NAMED, requests: 1, window_seconds: 1, enabled: 1, updated_at: name.length };
  await tx.insertInto('rate_limits').values(row).execute();
};
const written = async ({ read }: Platform['database']) =>
  (await read.selectFrom('rate_limits').select('class').execute()).length;

describe.each(ENGINES)('work of one on $name', (engine) => {
  test('runs on the first of two servers, and on the other one when the first has stopped', async () => {
    const { startServer } = await open(engine);
    const first = startServer();
    await first.running();
    const second = startServer();
    await first.one.stop();
    expect(first.stops()).toBe(1);
    await second.running();
    expect(first.runs).toHaveLength(1);
  });

  test('moves when the lease has expired by the clock of the database, not before', async () => {
    const { clock, startServer } = await open(engine);
    const first = startServer();
    await first.running();
    await first.freeze();
    const second = startServer();
    clock.advance(LEASE_MS - 1);
    await passTicks();
    expect(second.runs).toHaveLength(0);
    clock.advance(1);
    await second.running();
  });

  test('a server that stood still between a read and its write writes nothing, and stops the work', async () => {
    const { clock, database, startServer } = await open(engine);
    const first = startServer();
    const old = await first.running();
    expect(await written(old.database)).toBe(0);
    await first.freeze();
    const late = old.database.transact(write('late'));
    clock.advance(LEASE_MS);
    const second = startServer();
    await second.running();
    first.goOn();
    await expect(late).rejects.toThrow('another server does the background work now');
    expect(await written(database)).toBe(0);
    await expect.poll(first.stops).toBe(1);
    old.log.error('the run failed');
    expect(first.lines.join('\n')).toContain('[WARN] the run failed');
  });

  test('a server whose lease has expired goes on while nobody has taken it', async () => {
    const { clock, database, startServer } = await open(engine);
    const first = startServer();
    const fenced = await first.running();
    await first.freeze();
    clock.advance(10 * LEASE_MS);
    first.goOn();
    await fenced.database.transact(write('on'));
    expect(await written(database)).toBe(1);
    expect(first.stops()).toBe(0);
  });

  test('a clock of the database that was set back keeps nobody waiting', async () => {
    const { clock, startServer } = await open(engine);
    const first = startServer();
    await first.running();
    await first.freeze();
    clock.advance(-3_600_000);
    const second = startServer();
    await second.running();
  });

  test('the only server takes it at once from the process before it, and renews nothing', async () => {
    const { database, startServer } = await open(engine);
    const before = startServer();
    await before.running();
    await before.freeze();
    const after = startServer({ isAlone: true });
    await after.running();
    const expiry = () => database.read.selectFrom('leases').select(['epoch', 'expires_at']).execute();
    const taken = await expiry();
    await passTicks();
    expect(await expiry()).toEqual(taken);
  });
});

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('work of one on $name', (engine) => {
  test('a transaction during which another server took the lease is undone', async () => {
    const { clock, database, startServer } = await open(engine);
    const first = startServer();
    const old = await first.running();
    const inside = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    await first.freeze();
    first.admit();
    const late = old.database.transact(async (tx) => {
      await write('late')(tx);
      inside.resolve();
      await taken.promise;
    });
    await inside.promise;
    clock.advance(LEASE_MS);
    await startServer().running();
    taken.resolve();
    await expect(late).rejects.toThrow('another server does the background work now');
    expect(await written(database)).toBe(0);
  });

  test('nobody takes the lease between the check of a write and its commit', async () => {
    const checked = Promise.withResolvers<void>();
    const committed = Promise.withResolvers<void>();
    const { clock, database, startServer } = await open(engine, {
      async beforeCommit(tx) {
        const rows = await tx.selectFrom('rate_limits').select('class').execute();
        if (rows.length === 0) return;
        checked.resolve();
        await committed.promise;
      },
    });
    const first = startServer();
    const old = await first.running();
    await first.freeze();
    first.admit();
    const early = old.database.transact(write('in time'));
    await checked.promise;
    clock.advance(LEASE_MS);
    const second = startServer();
    await passTicks();
    expect(second.runs).toHaveLength(0);
    committed.resolve();
    await early;
    await second.running();
    expect(await written(database)).toBe(1);
  });
});

/** Time for several looks at the lease. */
async function passTicks(): Promise<void> {
  let ticks = 0;
  await expect.poll(() => ticks++, { interval: 5 * TICK_MS }).toBeGreaterThan(5);
}
