import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import { describe, expect, test } from 'vitest';
import { insertDecisions } from '../approvals/decision-store.ts';
import { insertCommands } from '../commands/store.ts';
import { appendEvent } from '../events/append-event.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestApp } from '../testing/test-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createSnapshots } from './keep-snapshots.ts';
import { mountOverview } from './routes.ts';
import { takeSnapshot } from './take-snapshot.ts';

const HOUR_MS = 3_600_000;

/** The path of a list. */
const PATHS: Readonly<Record<string, string>> = {
  divergences: 'artifacts/divergences',
  'signing-keys': 'admin/signing-keys',
  'registration-tokens': 'admin/registration-tokens',
  'notification-deliveries': 'notifications/deliveries',
};

async function openApp(engine: TestEngine) {
  const app = await createTestApp(engine);
  app.platform.clock.advance(61_000);
  const token = await app.adminToken();
  async function get(url: string) {
    const answer = await app.http.inject({
      method: 'GET',
      url,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.statusCode, body: answer.json() };
  }
  return { app, platform: app.platform, get };
}

/** A fleet with every kind of row; hosts 1 to 4 exist, 5 is deleted. */
async function fillFleet(platform: OperatorPlatform, { group = null }: { group?: string | null } = {}) {
  const { database } = platform;
  const nowMs = platform.now();
  const agents: string[] = [];
  for (const n of [1, 2, 3, 4]) {
    const machineId = n === 3 ? null : `machine-${n}`;
    const grouped = group !== null && n === 1 ? { group } : {};
    agents.push((await insertTestAgent(database, { n, machineId, ...grouped })).agentId);
  }
  const { agentId: deleted } = await insertTestAgent(database, { n: 5, deletedAtMs: 1 });
  const [first = '', second = '', , fourth = ''] = agents;
  const updates: [agentId: string, state: string, verdict: string | null, fields?: object][] = [
    [first, 'pending', 'clear', { known_exploited: 1, fixes: 3, fixes_severity: 'critical', fix_rank: 16 }],
    [first, 'pending', 'vulnerable', { security: 1 }],
    [first, 'pending', null],
    [second, 'pending', 'unchecked', { known_exploited: 0 }],
    [second, 'pending', 'clear', { fixes: 0 }],
    [second, 'approved', 'clear', { fixes: 1 }],
    [second, 'failed', 'vulnerable'],
    [second, 'installed', 'clear', { fixes: 9 }],
    [deleted, 'pending', 'clear', { known_exploited: 1, fixes: 1, security: 1 }],
    [deleted, 'failed', null],
  ];
  const ids: string[] = [];
  for (const [i, [agentId, state, verdict, fields = {}]] of updates.entries()) {
    const { updateId } = await insertTestUpdate(database, { agentId, n: i + 1, state, expiresAtMs: nowMs });
    ids.push(updateId);
    const discovered_at = i === 0 ? nowMs - 100 * HOUR_MS : nowMs;
    await database.transact((tx) =>
      tx
        .updateTable('updates')
        .set({ verdict, discovered_at, ...fields })
        .where('id', '=', updateId)
        .execute(),
    );
  }
  await database.transact(async (tx) => {
    await tx
      .insertInto('agent_presence')
      .values([
        { agent_id: first, last_seen_at: nowMs },
        { agent_id: second, last_seen_at: nowMs - HOUR_MS },
      ])
      .execute();
    await tx
      .updateTable('agents')
      .set({ status: 'revoked', revoked_at: nowMs })
      .where('id', '=', fourth)
      .execute();
    await tx
      .insertInto('clone_suspicions')
      .values({ agent_id: first, since: nowMs, evidence: '[]', raised_at: nowMs, accepted_addresses: '[]' })
      .execute();
    for (const status of ['pending', 'sent'] as const) {
      await insertCommands(tx, [
        {
          row: {
            ...{ id: platform.newId(), agent_id: first, action: 'install_update', params: '{}', status },
            ...{ created_by: 'ada', created_at: nowMs, not_before: nowMs, expires_at: nowMs + HOUR_MS },
            ...{ approval_id: null, approval_sha256: null },
          },
          updateIds: [],
        },
      ]);
    }
    for (const [i, outcome] of (['blocked', 'blocked', 'handed_back', 'minted'] as const).entries()) {
      const row = {
        ...{ id: platform.newId(), agent_id: first, set_sha256: 's', outcome, actor: 'ada' },
        ...{ fingerprint: 'f', document: '{}', document_sha256: 'd', decided_at: nowMs, repeats: 0 },
        ...{ plan_id: null, token_id: null, repeated_at: null },
      };
      await insertDecisions(tx, [{ row, updateIds: [ids[Math.floor(i / 2)] ?? ''] }]);
    }
    await tx
      .insertInto('artifact_divergences')
      .values({
        ...{ id: platform.newId(), ecosystem: 'apt', scope: 's', name: 'n', version: 'v', variant: '' },
        ...{ algorithm: 'sha256', state: 'open', hash_count: 2, opened_at: nowMs },
      })
      .execute();
    for (const agentId of [first, second]) {
      for (const type of ['MACHINE_ID_MISMATCH', 'REFRESH_TOKEN_REUSE', 'AGENT_ENROLLED'] as const) {
        const event = { severity: 'warning', component: 'test', agentId, content: {} } as const;
        await appendEvent(tx, platform, { kind: 'security', type, ...event });
      }
      for (const type of ['update_installed', 'update_failed', 'update_approved'] as const) {
        const event = { severity: 'info', component: 'test', agentId, content: {} } as const;
        await appendEvent(tx, platform, { kind: 'system', type, ...event });
      }
    }
  });
  return { agents, ids };
}

type OperatorPlatform = ReturnType<typeof createTestPlatform>;

function figuresOf(part: object): Figure[] {
  return Object.values(part).flatMap((one: unknown) =>
    isFigure(one) ? [one] : isPart(one) ? figuresOf(one) : [],
  );
}
const isPart = (one: unknown): one is object => one !== null && typeof one === 'object';
const isFigure = (one: unknown): one is Figure => isPart(one) && 'count' in one && 'opens' in one;

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
    const { platform, get } = await openApp(engine);
    await fillFleet(platform);
    const { status, body }: { status: number; body: Overview } = await get('/api/v1/overview');
    expect(status).toBe(200);
    expect(counts(body.needs_me)).toEqual({
      waiting: { clear: 2, vulnerable: 1, unchecked: 1, not_judged: 1 },
      exploited: 1,
      critical_fixes: 1,
      fixes: 1,
      security: 1,
      blocked: 2,
      failed: 1,
      approvals_undelivered: 1,
      clones_suspected: 1,
      hosts_unbound: 1,
      hosts_offline: 1,
      divergences_open: 1,
      keys_due: 0,
      registration_tokens_ending: 0,
      dead_letters: 0,
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
      updates_open: 7,
    });
    expect(body.verdicts).toMatchObject({ clear: 3, vulnerable: 2, unchecked: 1, not_judged: 1 });
    expect(body.of).toBe('fleet');
  });

  test('each number opens a list of as many rows', async () => {
    const { platform, get } = await openApp(engine);
    await fillFleet(platform);
    const { body }: { body: Overview } = await get('/api/v1/overview');
    const figures = figuresOf(body).filter(({ opens }) => opens !== null);
    expect(figures.length).toBeGreaterThan(20);
    for (const { count, opens } of figures) {
      if (opens === null || opens.list === 'signing-keys' || opens.list === 'registration-tokens') continue;
      const url = `/api/v1/${PATHS[opens.list] ?? opens.list}?${new URLSearchParams(opens.filter)}`;
      const { body: list } = await get(url);
      expect([url, list.total]).toEqual([url, count]);
    }
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
    });
    const answer = await app.inject({
      method: 'GET',
      url: '/api/v1/overview',
      headers: { 'x-test-groups': 'web' },
    });
    const body: Overview = answer.json();
    expect(body.of).toBe('groups');
    expect(counts(body.needs_me)).toMatchObject({
      waiting: { clear: 1, vulnerable: 1, unchecked: 0, not_judged: 1 },
      exploited: 1,
      critical_fixes: 1,
      blocked: 2,
      failed: 0,
      approvals_undelivered: 1,
      clones_suspected: 1,
      hosts_unbound: 0,
      hosts_offline: 0,
      divergences_open: null,
      keys_due: null,
      registration_tokens_ending: null,
      dead_letters: null,
    });
    expect(counts(body.totals)).toMatchObject({ hosts: 1, hosts_online: 1, updates_open: 3 });
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
