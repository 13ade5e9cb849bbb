import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import { describe, expect, test } from 'vitest';
import { insertDecisions } from '../approvals/decision-store.ts';
import { insertCommands } from '../commands/store.ts';
import type { Config } from '../config.ts';
import { placeHold } from '../holds/manage-holds.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { fillFleet, isFigure, isPart, openOverviewApp } from '../testing/overview-fleet.ts';
import { HOLD } from '../testing/standing.ts';
import type { TestPlatform } from '../testing/test-platform.ts';
import { RECOMMENDED_HERE } from '../updates/offer-rules.ts';

const HOUR_MS = 3_600_000;
const TOKENS = '/api/v1/admin/registration-tokens';

/** The path of a list. */
const PATHS: Readonly<Record<string, string>> = {
  divergences: 'artifacts/divergences',
  'signing-keys': 'admin/signing-keys',
  'registration-tokens': 'admin/registration-tokens',
  'notification-deliveries': 'notifications/deliveries',
};

/** All figures of a part of the overview, by their paths. */
function figuresOf(part: object, path = ''): [path: string, figure: Figure][] {
  return Object.entries(part).flatMap(([name, one]: [string, unknown]) => {
    const at = `${path}${name}`;
    return isFigure(one) ? [[at, one] as const] : isPart(one) ? figuresOf(one, `${at}.`) : [];
  });
}

const MESSAGE = {
  ...{ id: 'x', subject: 'a try', severity: 'info', at: '2026-01-01T00:00:00Z', summary: 'a try' },
  ...{ sections: [], link: null, payload: {} },
};

/** Beside the fleet of every kind of row, the rows that look like those that count and do not. */
async function openVariedFleet(engine: TestEngine, settings: Partial<Config>) {
  const opened = await openOverviewApp(engine, settings);
  const { platform, call } = opened;
  const { clock } = platform;
  for (const hours of [1, 80]) {
    const expires_at = new Date(platform.now() + hours * HOUR_MS).toISOString();
    expect((await call('POST', TOKENS, { label: `${hours} h`, expires_at })).status).toBe(201);
  }
  clock.advance(0.9 * HOUR_MS);
  const { agents } = await fillFleet(platform);
  await insertLookalikes(platform, agents);
  await insertHeld(platform, agents);
  return opened;
}

/** Hosts that reported: one with nothing open, one on which a hold keeps all that waits, and others that look alike. */
async function insertHeld(
  platform: TestPlatform,
  [first = '', second = '', third = '', revoked = '']: readonly string[],
) {
  const { database, now, newId } = platform;
  const hosts = [first, second, third, revoked];
  for (const n of [6, 7, 8, 9])
    hosts.push((await insertTestAgent(database, { n, group: n < 8 ? 'web' : 'db' })).agentId);
  const [, , , , kept = '', both = '', elsewhere = '', unreported = ''] = hosts;
  const update = {
    ...{ ecosystem: 'npm', arch: '', current_version: '1', available_version: '2', state: 'pending' },
    ...{
      security: 0,
      out_of_band: 0,
      discovered_at: now(),
      updated_at: now(),
      recommended: RECOMMENDED_HERE,
    },
  } as const;
  const report = {
    ecosystem: 'npm',
    digest: 'x',
    scanned_at: 1,
    received_at: 1,
    complete: 1,
    package_count: 1,
  };
  await database.transact(async (tx) => {
    await tx
      .insertInto('updates')
      .values([
        { ...update, id: newId(), agent_id: kept, name: 'kept' },
        { ...update, id: newId(), agent_id: both, name: 'kept' },
        { ...update, id: newId(), agent_id: both, name: 'wanted' },
        { ...update, id: newId(), agent_id: elsewhere, name: 'kept' },
        { ...update, id: newId(), agent_id: kept, name: 'kept', state: 'installed' },
      ])
      .execute();
    const reporting = hosts.filter((host) => host !== unreported);
    await tx
      .insertInto('inventory_reports')
      .values(reporting.map((agent_id) => ({ ...report, agent_id })))
      .execute();
    const web = { kind: 'some' as const, groups: ['web'], hosts: [] };
    for (const packages of [['kept'], ['k*', 'absent']]) {
      const request = { ...HOLD, ecosystems: ['npm' as const], packages, scope: web };
      await placeHold(tx, platform, { request, actor: 'ada' });
    }
  });
}

async function insertLookalikes({ database, now, newId }: TestPlatform, agents: readonly string[]) {
  const nowMs = now();
  const [first = '', second = '', third = '', revoked = ''] = agents;
  const deleted = '01900000-0000-7000-8000-000000000005';
  const update = {
    ...{ ecosystem: 'npm', arch: '', current_version: '1', available_version: '2', state: 'pending' },
    ...{ security: 0, out_of_band: 0, verdict: 'vulnerable', discovered_at: nowMs, updated_at: nowMs },
    ...{ recommended: RECOMMENDED_HERE },
  };
  const given = [
    { ...update, agent_id: first, name: 'both', stopped_under: 'introduced' },
    { ...update, agent_id: second, name: 'letter', stopped_under: 'any' },
    { ...update, agent_id: second, name: 'letter-2', stopped_under: 'any' },
    { ...update, agent_id: second, name: 'excused', stopped_under: 'neither' },
    { ...update, agent_id: second, name: 'approved', stopped_under: 'introduced', state: 'approved' },
    { ...update, agent_id: second, name: 'passed-over', stopped_under: 'introduced', recommended: 0 },
    { ...update, agent_id: deleted, name: 'deleted', stopped_under: 'introduced' },
    { ...update, agent_id: deleted, name: 'deleted-done', state: 'installed' },
  ] as const;
  const updates = given.map((row) => ({ id: newId(), ...row }));
  const blocked = ['both', 'passed-over', 'deleted', 'approved'];
  const said = { list_ages: '{}', received_at: nowMs };
  const stale = { ...said, oldest_list_seconds: 172_801, ahead_ms: 0 };
  const current = { ...stale, oldest_list_seconds: 172_800 };
  await database.transact(async (tx) => {
    await tx
      .insertInto('agent_timeliness')
      .values([
        { ...stale, agent_id: first, ahead_ms: 30_001 },
        { ...current, agent_id: second, ahead_ms: -30_001 },
        { ...stale, agent_id: third, ahead_ms: 99_000, received_at: nowMs - 48 * HOUR_MS - 1 },
        { ...stale, agent_id: revoked, ahead_ms: 99_000 },
        { ...stale, agent_id: deleted, ahead_ms: 99_000 },
      ])
      .execute();
    await tx.insertInto('updates').values(updates).execute();
    const decision = {
      ...{
        outcome: 'blocked' as const,
        actor: 'ada',
        fingerprint: 'f',
        document: '{}',
        document_sha256: 'd',
      },
      ...{ plan_id: null, token_id: null, repeated_at: null, decided_at: nowMs, repeats: 0 },
    };
    for (const { id, agent_id, name } of updates.filter((one) => blocked.includes(one.name))) {
      const row = { ...decision, id: newId(), agent_id, set_sha256: name };
      await insertDecisions(tx, [{ row, updateIds: [id] }]);
    }
    const later = {
      ...{ id: newId(), agent_id: second, action: 'install_update', params: '{}', status: 'pending' },
      ...{ created_by: 'ada', created_at: nowMs, not_before: nowMs + 1, expires_at: nowMs + HOUR_MS },
      ...{ approval_id: null, approval_sha256: null },
    } as const;
    await insertCommands(tx, [{ row: later, updateIds: [] }]);
    await tx
      .updateTable('signing_keys')
      .set({ created_at: nowMs - 366 * 24 * HOUR_MS })
      .execute();
    const key = { key_id: newId(), version: 9, public_key_hex: '0'.repeat(64), status: 'revoked' } as const;
    await tx
      .insertInto('signing_keys')
      .values({ ...key, created_at: 1, revoked_at: 2, in_use: 0, first_key_set_version: 1 })
      .execute();
    const channel = { id: newId(), name: 'mail', config: '{}', is_enabled: 1, created_by: 'ada' };
    await tx
      .insertInto('notification_channels')
      .values({ ...channel, failures: 0, paused_until: 0, created_at: nowMs, updated_at: nowMs })
      .execute();
    const letter = {
      ...{
        channel_id: channel.id,
        kind: 'test' as const,
        message: JSON.stringify(MESSAGE),
        events: 0,
        update_ids: '[]',
      },
      ...{ left_out: 0, attempts: 12, attempts_max: 12, next_attempt_at: nowMs, leased_until: 0 },
      ...{ created_at: nowMs, ended_at: nowMs },
    };
    await tx
      .insertInto('notification_deliveries')
      .values([
        { ...letter, id: newId(), state: 'dead' },
        { ...letter, id: newId(), state: 'delivered' },
      ])
      .execute();
  });
}

describe.each(ENGINES)('each number of the overview on $name', (engine) => {
  test.each(['any', 'introduced'] as const)(
    'opens a list of as many rows, under the policy "%s"',
    async (policy) => {
      const { get } = await openVariedFleet(engine, { vulnerabilityPolicy: policy });
      const { body }: { body: Overview } = await get('/api/v1/overview');
      const figures = figuresOf(body);
      expect(figures.length).toBeGreaterThan(30);
      expect(figures.filter(([, { opens }]) => opens === null).map(([path]) => path)).toEqual([]);
      // Nothing is proven by a list that is empty.
      expect(figures.filter(([, { count }]) => count === 0).map(([path]) => path)).toEqual([]);
      const counted: object[] = [];
      const listed: object[] = [];
      const held: [string, Figure] = ['held', { ...body.held, count: body.held.updates, as_of: body.as_of }];
      expect(held[1].count).toBe(2);
      for (const [path, { count, opens }] of [...figures, held]) {
        if (opens === null) continue;
        const url = `/api/v1/${PATHS[opens.list] ?? opens.list}?${new URLSearchParams(opens.filter)}`;
        const { body: list } = await get(url);
        counted.push({ path, url, total: count, rows: count });
        listed.push({ path, url, total: list.total, rows: list.items.length });
      }
      expect(listed).toEqual(counted);
      expect(body.needs_me.stopped.count).toBe(policy === 'any' ? 3 : 1);
      expect(body.totals.hosts_current.count).toBe(2);
      for (const [verdict, count] of Object.entries(body.verdicts)) {
        if (verdict === 'as_of') continue;
        expect([verdict, (await get(`/api/v1/updates?open=true&verdict=${verdict}`)).body.total]).toEqual([
          verdict,
          count,
        ]);
      }
    },
  );
});
