import type { HistoryDay } from '@tidegate/protocol/overview-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLastSeen } from '../check-in/last-seen.ts';
import { rfc3339Day } from '../platform/clock.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { ageAt, firstDayOf, oldestDay } from './day-rules.ts';
import { keepHistory } from './keep-history.ts';
import { createSnapshots } from './keep-snapshots.ts';
import { mountOverview } from './routes.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function openScene(engine: TestEngine) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const snapshots = createSnapshots(platform);
  const app = createSliceApp(platform);
  mountOverview(app.routes, {
    platform,
    snapshots,
    advisories: () => ({ status: 'ok', missing: [] }),
    config: { vulnerabilityPolicy: null },
  });
  const state = { hour: -1, slot: -1 };
  return {
    ...{ platform, database },
    clock: platform.clock,
    keep: () => keepHistory({ platform, snapshots }, state),
    async get(url: string) {
      const answer = await app.inject({ method: 'GET', url });
      return { status: answer.statusCode, body: answer.json() };
    },
    /** An open update that was reported the given number of hours ago. */
    async addUpdate(n: number, args: { agentId: string; hoursAgo: number; fields?: object }) {
      const { agentId, hoursAgo, fields = {} } = args;
      const now = platform.now();
      const row = { agentId, n, state: 'pending', expiresAtMs: now };
      const { updateId } = await insertTestUpdate(database, row);
      const set = { discovered_at: now - hoursAgo * HOUR_MS, ...fields };
      await database.transact((tx) =>
        tx.updateTable('updates').set(set).where('id', '=', updateId).execute(),
      );
    },
  };
}

describe.each(ENGINES)('the history of the fleet on $name', (engine) => {
  test('is written every hour for the current day, and keeps its last values', async () => {
    const { keep, get, clock, addUpdate, database, platform } = await openScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const seen = { agent_id: agentId, last_seen_at: platform.now() };
    await database.transact((tx) => tx.insertInto('agent_presence').values(seen).execute());
    await addUpdate(1, { agentId, hoursAgo: 10, fields: { verdict: 'clear', fixes: 2 } });
    await addUpdate(2, { agentId, hoursAgo: 20, fields: { verdict: 'vulnerable', fixes: 0 } });
    await addUpdate(3, { agentId, hoursAgo: 300 });
    const gone = await insertTestAgent(database, { n: 2, deletedAtMs: 1 });
    await addUpdate(9, { agentId: gone.agentId, hoursAgo: 1, fields: { fixes: 1 } });
    await keep();
    const first: HistoryDay = {
      day: '2026-11-21',
      as_of: '2026-11-21T09:00:00.000Z',
      complete: false,
      open: { clear: 1, vulnerable: 1, unchecked: 0, not_judged: 1 },
      exposed: 1,
      median_age_hours: 19.5,
      p95_age_hours: 299.5,
      hosts_seen: 1,
      exposed_hosts: 1,
    };
    expect(await get('/api/v1/overview/history')).toEqual({ status: 200, body: { items: [first] } });
    await addUpdate(4, { agentId, hoursAgo: 0, fields: { verdict: 'unchecked' } });
    clock.advance(10 * 60_000);
    await keep();
    expect((await get('/api/v1/overview/history')).body).toEqual({ items: [first] });
    clock.advance(HOUR_MS);
    await keep();
    const [later] = (await get('/api/v1/overview/history')).body.items;
    expect(later).toMatchObject({ open: { unchecked: 1 }, as_of: '2026-11-21T10:10:00.000Z' });
    clock.advance(DAY_MS);
    await keep();
    const { items } = (await get('/api/v1/overview/history')).body;
    expect(items.map(({ day, complete, hosts_seen }: HistoryDay) => [day, complete, hosts_seen])).toEqual([
      ['2026-11-21', true, 1],
      ['2026-11-22', false, 0],
    ]);
    expect(items[0]).toEqual({ ...later, complete: true });
    expect((await get('/api/v1/overview/history?days=1')).body.items).toHaveLength(1);
  });

  test('is kept for 400 days', async () => {
    const { keep, get, platform, database } = await openScene(engine);
    const old = {
      ...{ as_of: 0, open_clear: 0, open_vulnerable: 0, open_unchecked: 0, open_not_judged: 0 },
      ...{ exposed: 0, median_age_ms: null, p95_age_ms: null, hosts_seen: 0, exposed_hosts: null },
    };
    const days = [400, 399].map((ago) => ({ ...old, day: rfc3339Day(platform.now() - ago * DAY_MS) }));
    await database.transact((tx) => tx.insertInto('fleet_days').values(days).execute());
    platform.clock.advance(-400 * DAY_MS);
    await jumpAhead(platform, 400 * DAY_MS);
    await keep();
    const kept = async () => (await database.read.selectFrom('fleet_days').select('day').execute()).length;
    expect(await kept()).toBe(3);
    await believeClock(platform);
    platform.clock.advance(HOUR_MS);
    await keep();
    expect(await kept()).toBe(2);
    const { items } = (await get('/api/v1/overview/history?days=400')).body;
    expect(items.map(({ day }: HistoryDay) => day)).toEqual([days[1]?.day, '2026-11-21']);
  });

  test.each(['0', '401', '1e2', '-1', ''])('of %j days is refused', async (days) => {
    const { get } = await openScene(engine);
    expect((await get(`/api/v1/overview/history?days=${days}`)).status).toBe(400);
  });

  test('of a host: when it was seen, and when no server ran', async () => {
    const { keep, get, clock, platform, database } = await openScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const checkIn = async () => {
      const lastSeen = createLastSeen(platform);
      lastSeen.record(agentId, platform.now());
      await lastSeen.stop();
    };
    await keep();
    await checkIn();
    for (const isUp of [true, false, true]) {
      clock.advance(HOUR_MS / 2);
      if (isUp) await keep();
    }
    await checkIn();
    clock.advance(HOUR_MS / 4);
    const { body } = await get(`/api/v1/agents/${agentId}/heartbeats`);
    expect(body).toMatchObject({ agent_id: agentId, as_of: '2026-11-21T10:45:00.000Z', slot_minutes: 30 });
    expect(body.slots).toHaveLength(48);
    expect(body.slots.slice(-5)).toEqual([
      { from: '2026-11-21T08:30:00.000Z', status: 'unknown' },
      { from: '2026-11-21T09:00:00.000Z', status: 'seen' },
      { from: '2026-11-21T09:30:00.000Z', status: 'missed' },
      { from: '2026-11-21T10:00:00.000Z', status: 'unknown' },
      { from: '2026-11-21T10:30:00.000Z', status: 'late' },
    ]);
    const nobody = '01900000-0000-7000-8000-00000000beef';
    expect((await get(`/api/v1/agents/${nobody}/heartbeats`)).status).toBe(404);
  });
});

describe('days and ages', () => {
  test('a day is in UTC, and a range of days ends with it', () => {
    const now = Date.UTC(2026, 2, 1, 23, 59);
    expect([rfc3339Day(now), firstDayOf(now, 1), firstDayOf(now, 2)]).toEqual([
      '2026-03-01',
      '2026-03-01',
      '2026-02-28',
    ]);
    expect(oldestDay(now)).toBe('2025-01-26');
  });

  test('the age of a share is that in the sorted list, by nearest rank', () => {
    const group = fc.record({ ageMs: fc.nat(1_000), updates: fc.integer({ min: 1, max: 20 }) });
    fc.assert(
      fc.property(fc.array(group, { minLength: 1 }), fc.constantFrom(0.5, 0.95), (ages, part) => {
        const all = ages.flatMap(({ ageMs, updates }) => Array<number>(updates).fill(ageMs));
        const rising = all.toSorted((a, b) => a - b);
        expect(ageAt(part, ages)).toBe(rising[Math.ceil(part * rising.length) - 1]);
      }),
    );
    expect(ageAt(0.5, [])).toBeNull();
  });
});
