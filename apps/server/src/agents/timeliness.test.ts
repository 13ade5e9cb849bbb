import type { TimelinessReport } from '@tidegate/protocol/timeliness';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from '../config.ts';
import { mountHostFaults } from '../host-faults/routes.ts';
import { mountInstalled } from '../inventory/installed-routes.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import type { AgentListFilter } from './filter-store.ts';
import { agentOrder, listAgents } from './list-store.ts';
import { mountTimeliness } from './timeliness-routes.ts';
import { findTimeliness } from './timeliness-store.ts';

const HOUR = 3_600;

describe.each(ENGINES)('what a host says of its lists and clock, on $name,', (engine) => {
  async function scene() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const app = createSliceApp(platform);
    onTestFinished(() => app.close());
    mountTimeliness(app.routes, { platform });
    mountHostFaults(app.routes, { platform, config: defaultConfig() });
    mountInstalled(app.routes, { platform });
    const [one, two] = [await insertTestAgent(database, { n: 1 }), await insertTestAgent(database, { n: 2 })];
    for (const { agentId } of [one, two]) {
      await database.transact(async (tx) => {
        await tx
          .insertInto('inventory_reports')
          .values({
            ...{ agent_id: agentId, ecosystem: 'apt', digest: 'd', scanned_at: 1, received_at: 1 },
            ...{ complete: 1, package_count: 1, writing: null, condition: null, changes_since: 1 },
          })
          .execute();
        const seen = { agent_id: agentId, last_seen_at: platform.now() };
        await tx.insertInto('agent_presence').values(seen).execute();
      });
    }
    const put = (payload: object | string) =>
      app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${one.agentId}/timeliness`,
        headers: {
          ...{ 'x-machine-id': 'machine-1', 'x-test-agent': one.agentId, 'x-test-family': one.familyId },
          'content-type': 'application/json',
        },
        payload,
      });
    const say = async (lists: TimelinessReport['lists'], aheadSeconds = 0) => {
      const clock = new Date(platform.now() + aheadSeconds * 1_000).toISOString();
      const answer = await put({ clock, lists });
      expect(answer.statusCode, answer.body).toBe(200);
    };
    const get = async (path: string, { agentId } = one) =>
      (await app.inject({ url: `/api/v1/agents/${agentId}/${path}` })).json();
    const faults = async (of = one): Promise<{ kind: string; text: string }[]> =>
      (await get('faults', of)).items;
    const confirmed = async (of = one) => (await get('inventory', of)).reports[0].lists_confirmed_at;
    return { platform, database, one, two, put, say, faults, confirmed };
  }

  test('becomes faults of that host alone, and the newest report replaces the one before', async () => {
    const { platform, two, say, faults, confirmed } = await scene();
    await say({ apt: 9 * 24 * HOUR }, 12 * 60);
    expect(await faults()).toMatchObject([
      { kind: 'clock_wrong', urgent: true, text: expect.stringContaining('about 12 minutes ahead of') },
      { kind: 'lists_stale', urgent: false, text: 'The package lists of apt are 9 days old' },
    ]);
    expect(await confirmed()).toBe('2026-11-12T09:00:00.000Z');
    expect(await faults(two)).toEqual([]);
    expect(await confirmed(two)).toBeNull();

    platform.clock.advance(60_000);
    await say({ apt: HOUR, dnf: 30 }, -29);
    expect(await faults()).toEqual([]);
    expect(await confirmed()).toBe('2026-11-21T08:01:00.000Z');
  });

  test('finds hosts by it, and those that have not said for two days are unknown', async () => {
    const { platform, database, say } = await scene();
    const count = async (filter: AgentListFilter, scope: string[] | null = null) => {
      const nowMs = platform.now();
      const page = { order: agentOrder('hostname', nowMs), limit: 1, after: null };
      return (await listAgents(database.read, { filter, scope, nowMs, ...page })).count;
    };
    const states = async () => ({
      lists: [
        await count({ lists: 'stale' }),
        await count({ lists: 'current' }),
        await count({ lists: 'unknown' }),
      ],
      clock: [
        await count({ clock: 'wrong' }),
        await count({ clock: 'right' }),
        await count({ clock: 'unknown' }),
      ],
    });
    expect(await states()).toEqual({ lists: [0, 0, 2], clock: [0, 0, 2] });
    await say({ apt: HOUR, npm: 48 * HOUR + 1 }, -31);
    expect(await states()).toEqual({ lists: [1, 0, 1], clock: [1, 0, 1] });
    expect(await count({ lists: 'stale' }, ['web'])).toBe(0);
    await say({ apt: 48 * HOUR }, 30);
    expect(await states()).toEqual({ lists: [0, 1, 1], clock: [0, 1, 1] });
    await say({}, 31);
    expect(await states()).toEqual({ lists: [0, 0, 2], clock: [1, 0, 1] });
    platform.clock.advance(48 * HOUR * 1_000);
    expect(await states()).toMatchObject({ clock: [1, 0, 1] });
    platform.clock.advance(1);
    expect(await states()).toMatchObject({ clock: [0, 0, 2] });
  });

  test('an unknown age stays unknown', async () => {
    const { say, faults, confirmed } = await scene();
    await say({});
    expect(await faults()).toEqual([]);
    expect(await confirmed()).toBeNull();
  });

  test.each<[string, object | string, string]>([
    ['a clock that is no time', { clock: '2026-11-31T09:00:00Z', lists: {} }, '/clock'],
    ['no clock', { lists: {} }, '/clock'],
    ['an age below zero', { clock: '2026-11-21T09:00:00Z', lists: { apt: -1 } }, '/lists/apt'],
    ['half a second', { clock: '2026-11-21T09:00:00Z', lists: { apt: 1.5 } }, '/lists/apt'],
    ['more than ten years', { clock: '2026-11-21T09:00:00Z', lists: { dnf: 315_360_001 } }, '/lists/dnf'],
    ['an endless age', '{"clock":"2026-11-21T09:00:00Z","lists":{"apt":1e999}}', ''],
    ['an unknown manager', { clock: '2026-11-21T09:00:00Z', lists: { brew: 1 } }, '/lists/brew'],
    ['a member that is none', { clock: '2026-11-21T09:00:00Z', lists: {}, skew: 1 }, '/skew'],
    ['more than a report takes', `{"clock":"2026-11-21T09:00:00Z","lists":{}${' '.repeat(1_024)}}`, ''],
  ])('%s is refused, and nothing is stored', async (_, body, path) => {
    const { database, one, put } = await scene();
    const answer = await put(body);
    expect([400, 413], answer.body).toContain(answer.statusCode);
    if (path !== '') expect(answer.json().errors).toMatchObject([{ path }]);
    expect(await findTimeliness(database.read, one.agentId)).toBeNull();
  });

  test('the first and the last possible clock are taken', async () => {
    const { put, faults } = await scene();
    for (const [clock, side] of [
      ['0001-01-01T00:00:00Z', 'behind'],
      ['9999-12-31T23:59:59.999999999Z', 'ahead of'],
    ]) {
      expect((await put({ clock, lists: {} })).statusCode).toBe(200);
      expect(await faults()).toMatchObject([
        { kind: 'clock_wrong', text: expect.stringContaining(side ?? '') },
      ]);
    }
  });
});
