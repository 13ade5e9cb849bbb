import { describe, expect, test } from 'vitest';
import { agentOrder, listAgents } from '../agents/list-store.ts';
import { placeHold } from '../holds/manage-holds.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { HOLD } from '../testing/standing.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { countCurrent } from './current-store.ts';

describe.each(ENGINES)('hosts that are up to date but for holds, on $name,', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const { database, platform, agentId: first } = it;
    const hosts = [first];
    for (const n of [2, 3, 4]) {
      hosts.push((await insertTestAgent(database, { n, ...(n === 2 ? { group: 'web' } : {}) })).agentId);
    }
    const report = async (agentId: string) => {
      const row = {
        ecosystem: 'apt',
        digest: 'x',
        scanned_at: 1,
        received_at: 1,
        complete: 1,
        package_count: 1,
      };
      await database.transact((tx) =>
        tx
          .insertInto('inventory_reports')
          .values({ agent_id: agentId, ...row })
          .execute(),
      );
    };
    /** The list of hosts has as many. */
    const count = async (scope: readonly string[] | null = null) => {
      const nowMs = platform.now();
      const counted = await countCurrent(database.read, { nowMs, scope, turn: () => Promise.resolve() });
      const is = await hostsUpToDate(platform);
      const order = agentOrder('hostname', nowMs);
      for (const mostSorted of [0, 10_000]) {
        const page = { scope, nowMs, order, limit: 100, after: null, mostSorted };
        const upToDate = await listAgents(database.read, {
          ...page,
          filter: { upToDate: { wanted: true, is } },
        });
        expect([upToDate.count, upToDate.rows.length]).toEqual([counted.hosts, counted.hosts]);
        const others = await listAgents(database.read, {
          ...page,
          filter: { upToDate: { wanted: false, is } },
        });
        const all = await listAgents(database.read, { ...page, filter: {} });
        expect(others.count + upToDate.count).toBe(all.count);
      }
      return counted;
    };
    const hold = (change: Partial<typeof HOLD> = {}) =>
      database.transact((tx) => placeHold(tx, platform, { request: { ...HOLD, ...change }, actor: 'ada' }));
    return { ...it, hosts, report, count, hold };
  }

  test('are those that reported and on which nothing is open', async () => {
    const it = await scene();
    const [idle = '', waiting = '', failed = ''] = it.hosts;
    for (const host of [idle, waiting, failed]) await it.report(host);
    await it.addUpdate({ agentId: waiting });
    await it.addUpdate({ agentId: failed, state: 'failed' });
    await it.addUpdate({ agentId: idle, state: 'installed' });
    const nothing = { updates: 0, securityUpdates: 0, ends: null };
    // The fourth has nothing open either, but never reported: that is unknown, not done.
    expect(await it.count()).toEqual({ hosts: 1, held: nothing });
    expect(await it.count(['web'])).toEqual({ hosts: 0, held: nothing });
  });

  test('are also those of which holds keep back all that waits, and each update counts once', async () => {
    const it = await scene();
    const [both = '', web = '', more = ''] = it.hosts;
    for (const host of [both, web, more]) await it.report(host);
    for (const agentId of [both, web, more]) await it.addUpdate({ agentId });
    await it.addUpdate({ agentId: both, name: 'openssh' });
    await it.addUpdate({ agentId: more, name: 'vim' });
    expect((await it.count()).hosts).toBe(0);
    await it.hold({ packages: ['open*'] });
    await it.hold({ scope: { kind: 'some', groups: ['web'], hosts: [] }, ends_at: '2027-03-01T00:00:00Z' });
    await it.hold({ packages: ['nginx'], ends_at: '2027-06-01T00:00:00Z' });
    const ends = { firstMs: Date.parse(HOLD.ends_at), lastMs: Date.parse('2027-03-01T00:00:00Z') };
    expect(await it.count()).toEqual({ hosts: 2, held: { updates: 4, securityUpdates: 0, ends } });
    expect(await it.count(['web'])).toEqual({ hosts: 1, held: { updates: 1, securityUpdates: 0, ends } });
  });

  test('are not those on which another update waits beside the held one', async () => {
    const it = await scene();
    const [host = '', other = ''] = it.hosts;
    await it.report(host);
    await it.addUpdate();
    await it.hold({ scope: { kind: 'some', groups: ['web'], hosts: [other] } });
    expect((await it.count()).hosts).toBe(0);
    await it.hold({ packages: ['openss*'] });
    expect((await it.count()).held.updates).toBe((await it.count()).hosts);
  });
});
