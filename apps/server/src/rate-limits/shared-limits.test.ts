import { describe, expect, test } from 'vitest';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createBudgets, DEFAULT_BUDGETS, workerBudget } from './budgets.ts';
import { createRateLimits } from './rate-limits.ts';

const LOGINS = 10;
const WINDOW_MS = 60_000;

/** Servers on one database, past the start-up penalty. */
async function open(engine: TestEngine, { servers = 3, bootedAgoMs = 60_000 } = {}) {
  const platform = createTestPlatform(await engine.open());
  const limits = await Promise.all(
    Array.from({ length: servers }, () =>
      createRateLimits({
        ...{ platform, bootedAt: platform.now() - bootedAgoMs },
        countServers: async () => servers,
      }),
    ),
  );
  const limiters = limits.map(({ limiter }) => limiter);
  /** A request at each server in turn. */
  const takeInTurn = async (count: number, key = 'a') => {
    const takes = [];
    for (let i = 0; i < count; i++) takes.push(await limiters[i % servers]?.takeForAll('login', key));
    return takes.filter((taken) => taken?.ok).length;
  };
  const rows = async () => platform.database.read.selectFrom('shared_counts').selectAll().execute();
  return { platform, clock: platform.clock, limits, limiters, takeInTurn, rows };
}

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))(
  'limits of three servers on $name',
  (engine) => {
    test('R9: login is counted for all of them together, exactly in any window', async () => {
      const { clock, takeInTurn } = await open(engine);
      expect(await takeInTurn(6)).toBe(6);
      clock.advance(20_000);
      expect(await takeInTurn(9)).toBe(4);
      clock.advance(WINDOW_MS - 20_001);
      expect(await takeInTurn(3)).toBe(0);
      clock.advance(1);
      expect(await takeInTurn(9)).toBe(6);
      expect(await takeInTurn(1, 'b')).toBe(1);
    });

    test('of requests at the same moment no more pass than the limit', async () => {
      const { limiters } = await open(engine);
      const takes = await Promise.all(
        limiters.flatMap((limiter) => Array.from({ length: LOGINS }, () => limiter.takeForAll('login', 'a'))),
      );
      expect(takes.filter(({ ok }) => ok)).toHaveLength(LOGINS);
      for (const taken of takes) expect(taken.limit).toBe(LOGINS);
    });

    test('what operators and addresses may do is divided among them, what a host may do is not', async () => {
      const { limiters, limits } = await open(engine);
      const [first] = limiters;
      const takes = Array.from({ length: 110 }, () => first?.take('admin_operations', 'a'));
      expect(takes.filter((taken) => taken?.ok)).toHaveLength(33);
      expect(limits[0]?.table().admin_operations.requests).toBe(100);
      for (const host of ['agent_renewal', 'agent_checkin', 'agent_reports'] as const)
        expect(first?.take(host, 'a').limit).toBe(limits[0]?.table()[host].requests);
    });

    test('a flood is refused without the database', async () => {
      const { platform, limiters } = await open(engine, { servers: 1 });
      let asked = 0;
      const { transact } = platform.database;
      platform.database.transact = (work) => {
        asked++;
        return transact(work);
      };
      for (let i = 0; i < 100; i++) await limiters[0]?.takeForAll('login', 'a');
      expect(asked).toBe(2 * LOGINS);
    });

    test('counts outlive a restart, and what is idle is removed', async () => {
      const { platform, clock, limits, takeInTurn, rows } = await open(engine);
      expect(await takeInTurn(LOGINS)).toBe(LOGINS);
      const restarted = await createRateLimits({ platform, bootedAt: platform.now() - 60_000 });
      expect(await restarted.limiter.takeForAll('login', 'a')).toMatchObject({ ok: false, limit: LOGINS });
      clock.advance(WINDOW_MS - 1);
      await limits[0]?.tidy();
      expect(await rows()).toHaveLength(1);
      clock.advance(1);
      await limits[0]?.tidy();
      expect(await rows()).toEqual([]);
    });

    test('for a minute after its start a server takes half', async () => {
      const { takeInTurn } = await open(engine, { bootedAgoMs: 0 });
      expect(await takeInTurn(LOGINS)).toBe(LOGINS / 2);
    });

    test('a request of a server whose clock is ahead, and a row that somebody wrote, keep nobody out for long', async () => {
      const { platform, clock, takeInTurn } = await open(engine);
      const write = (state: string) =>
        platform.database.transact((tx) => tx.updateTable('shared_counts').set({ state }).execute());
      expect(await takeInTurn(1)).toBe(1);
      await write(JSON.stringify([clock.now() + 3_600_000, LOGINS]));
      expect(await takeInTurn(1)).toBe(0);
      await write('{}');
      expect(await takeInTurn(1)).toBe(1);
      await write(JSON.stringify([clock.now() + 3_600_000, LOGINS - 1]));
      expect(await takeInTurn(1)).toBe(1);
      clock.advance(WINDOW_MS);
      expect(await takeInTurn(LOGINS)).toBe(LOGINS);
    });
  },
);

test('a server on SQLite has the whole budget and writes no counts', async () => {
  const sqlite = ENGINES.find(({ name }) => name === 'sqlite');
  if (!sqlite) throw new Error('SQLite is always there');
  const { limiters, rows } = await open(sqlite);
  expect(limiters[0]?.take('admin_operations', 'a').limit).toBe(100);
  expect(await limiters[0]?.takeForAll('login', 'a')).toMatchObject({ ok: true, limit: LOGINS });
  expect(await rows()).toEqual([]);
});

test.each([
  [60, 2],
  [9, 4],
  [3, 4],
  [1, 64],
])('a budget of %i check-ins for %i processes is divided without a rest', (requests, processes) => {
  const budgets = createBudgets(DEFAULT_BUDGETS, processes);
  const agent_checkin = { requests, windowSeconds: 60, enabled: true };
  budgets.replace({ ...DEFAULT_BUDGETS, agent_checkin });
  const own = budgets.of('agent_checkin').requests;
  expect(own).toBeGreaterThan(0);
  expect(own + (processes - 1) * workerBudget(budgets.table(), processes).requests).toBe(requests);
  expect(budgets.of('agent_reports')).toEqual(DEFAULT_BUDGETS.agent_reports);
});
