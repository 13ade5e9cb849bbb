import type { Overview } from '@tidegate/protocol/overview-api';
import { describe, expect, test } from 'vitest';
import { appendEvent } from '../events/append-event.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { fillFleet, isFigure, isPart, openOverviewApp } from '../testing/overview-fleet.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createSnapshots } from './keep-snapshots.ts';
import { mountOverview } from './routes.ts';
import { takeSnapshot } from './take-snapshot.ts';

const HOUR_MS = 3_600_000;

function counts(part: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(part).map(([name, one]) => [
      name,
      isFigure(one) ? one.count : isPart(one) ? counts(one) : one,
    ]),
  );
}

describe.each(ENGINES)('the overview on $name', (engine) => {
  test('counts what needs action, what changed, and what may be out of date', async () => {
    const { platform, get } = await openOverviewApp(engine);
    await fillFleet(platform);
    const { status, body }: { status: number; body: Overview } = await get('/api/v1/overview');
    expect(status).toBe(200);
    expect(counts(body.needs_me)).toEqual({
      waiting: { clear: 2, vulnerable: 1, unchecked: 1, not_judged: 2 },
      exploited: 1,
      critical_fixes: 1,
      fixes: 1,
      security: 1,
      judging_overdue: 1,
      stopped: 0,
      blocked: 2,
      failed: 1,
      approvals_undelivered: 1,
      clones_suspected: 1,
      hosts_unbound: 1,
      hosts_offline: 1,
      lists_stale: 0,
      clocks_wrong: 0,
      divergences_open: 1,
      keys_due: 0,
      registration_tokens_ending: 0,
      dead_letters: 0,
      backup: { taken_at: null, bytes: null, due: false },
    });
    expect(counts(body.changed)).toMatchObject({
      installed: 2,
      failed: 2,
      approved: 2,
      new_updates: 7,
      hosts_enrolled: 2,
    });
    expect(counts(body.lying)).toMatchObject({ machine_mismatches: 2, token_reuse: 2, unchecked: 1 });
    expect(body.lying.clock).toMatchObject({ ok: true, behind_seconds: 0 });
    expect(counts(body.totals)).toEqual({
      hosts: 4,
      hosts_current: 0,
      hosts_bound: 2,
      hosts_online: 1,
      hosts_revoked: 1,
      updates_open: 8,
    });
    expect(body.verdicts).toMatchObject({ clear: 3, vulnerable: 2, unchecked: 1, not_judged: 2 });
    expect(body.of).toBe('fleet');
  });

  test('an operator of some groups gets the numbers of their hosts, and none of the fleet', async () => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    await fillFleet(platform, { group: 'web' });
    const app = createSliceApp(platform);
    mountOverview(app.routes, {
      platform,
      snapshots: createSnapshots(platform),
      advisories: () => ({ status: 'ok', missing: [] }),
      config: { vulnerabilityPolicy: null },
    });
    const answer = await app.inject({
      method: 'GET',
      url: '/api/v1/overview',
      headers: { 'x-test-groups': 'web' },
    });
    const body: Overview = answer.json();
    expect(body.of).toBe('groups');
    expect(counts(body.needs_me)).toMatchObject({
      waiting: { clear: 1, vulnerable: 1, unchecked: 0, not_judged: 2 },
      exploited: 1,
      critical_fixes: 1,
      blocked: 2,
      failed: 0,
      approvals_undelivered: 1,
      clones_suspected: 1,
      hosts_unbound: 0,
      hosts_offline: 0,
      lists_stale: 0,
      clocks_wrong: 0,
      divergences_open: null,
      keys_due: null,
      registration_tokens_ending: null,
      dead_letters: null,
      backup: null,
    });
    expect(counts(body.totals)).toMatchObject({ hosts: 1, hosts_online: 1, updates_open: 4 });
    expect(counts(body.changed)).toMatchObject({ installed: 1, new_updates: 2 });
    const history = await app.inject({
      method: 'GET',
      url: '/api/v1/overview/history',
      headers: { 'x-test-groups': 'web' },
    });
    expect(history.json()).toEqual({ items: [] });
  });

  test('counts in parts what no single part has, and events since a time', async () => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const now = platform.now();
    await database.transact(async (tx) => {
      for (let n = 0; n < 12_000; n += 400) {
        const rows = Array.from({ length: 400 }, (_, i) => ({
          ...{ id: platform.newId(), agent_id: agentId, ecosystem: 'apt', name: `p${n + i}`, arch: '' },
          ...{ current_version: '1', available_version: '2', security: 0, state: 'pending', out_of_band: 0 },
          ...{ verdict: 'clear', discovered_at: now - (n + i) * 1_000, updated_at: 0 },
        }));
        await tx.insertInto('updates').values(rows).execute();
      }
    });
    for (const hoursAgo of [30, 26, 20, 0]) {
      const at = { newId: platform.newId, now: () => now - hoursAgo * HOUR_MS };
      await database.transact((tx) =>
        appendEvent(tx, at, {
          ...{ kind: 'security', type: 'AGENT_ENROLLED', severity: 'info', component: 'test', content: {} },
        }),
      );
    }
    const snapshot = await takeSnapshot(platform, null);
    expect(snapshot.updates.reduce((sum, { updates }) => sum + updates, 0)).toBe(12_000);
    expect(snapshot.events.get('AGENT_ENROLLED')).toBe(2);
  });
});

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('SQLite is always there');

describe('a caller', () => {
  async function openScene() {
    if (!sqlite) throw new Error('SQLite is always there');
    const platform = createTestPlatform(await sqlite.open());
    const taken: (readonly string[] | null)[] = [];
    let hold: Promise<void> | null = null;
    const snapshots = createSnapshots(platform, {
      async take(given, scope) {
        taken.push(scope);
        await hold;
        return takeSnapshot(given, scope);
      },
    });
    return {
      ...{ platform, snapshots, taken },
      holdUntil: (until: Promise<void> | null) => {
        hold = until;
      },
    };
  }

  test('concurrent callers share one count, and soon after it is reused', async () => {
    const { platform, snapshots, taken } = await openScene();
    await Promise.all([snapshots.of(null), snapshots.of(null), snapshots.of(['a'])]);
    platform.clock.advance(1_000);
    await snapshots.of(null);
    expect(taken).toEqual([null, ['a']]);
  });

  test('a later caller gets the previous counts with their time while new ones take long', async () => {
    const { platform, snapshots, taken, holdUntil } = await openScene();
    const first = await snapshots.of(null);
    platform.clock.advance(HOUR_MS);
    const { promise, resolve } = Promise.withResolvers<void>();
    holdUntil(promise);
    expect(await snapshots.of(null)).toBe(first);
    resolve();
    await expect.poll(async () => (await snapshots.of(null)).asOfMs).toBe(platform.now());
    expect(taken).toEqual([null, null]);
  });

  test('an unavailable database gives the previous counts, or an error if there are none', async () => {
    const { platform, snapshots, holdUntil } = await openScene();
    const gone = () => Promise.reject(new Error('away'));
    holdUntil(gone());
    await expect(snapshots.of(null)).rejects.toThrow('away');
    holdUntil(null);
    const first = await snapshots.of(null);
    platform.clock.advance(HOUR_MS);
    holdUntil(gone());
    expect(await snapshots.of(null)).toBe(first);
    await expect.poll(() => platform.lines.join()).toContain('the overview was not counted');
  });
});
