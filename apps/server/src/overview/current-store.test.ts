import { describe, expect, test } from 'vitest';
import { placeHold } from '../holds/manage-holds.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { HOLD } from '../testing/standing.ts';
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
    const count = (scope: readonly string[] | null = null) =>
      countCurrent(database.read, { nowMs: platform.now(), scope, turn: () => Promise.resolve() });
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
    await it.hold({ scope: { kind: 'some', groups: [], hosts: [other] } });
    expect((await it.count()).hosts).toBe(0);
    await it.hold({ packages: ['openss*'] });
    expect((await it.count()).held.updates).toBe((await it.count()).hosts);
  });
});
