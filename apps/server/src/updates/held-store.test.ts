import { describe, expect, test } from 'vitest';
import { changeTags } from '../agents/tag-store.ts';
import { placeHold } from '../holds/manage-holds.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { HOLD } from '../testing/standing.ts';
import { withHeld } from './held-store.ts';
import { listUpdatedHosts, updatedHostOrder } from './host-store.ts';
import { listUpdates } from './list-store.ts';
import { listPackages, packageOrder } from './package-store.ts';
import { updateOrder } from './sort-store.ts';

describe.each(ENGINES)('updates that holds keep back, on $name,', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const { database, platform, agentId: first } = it;
    const { agentId: web } = await insertTestAgent(database, { n: 2, group: 'web' });
    const { agentId: tagged } = await insertTestAgent(database, { n: 3 });
    const tag = { agentId: tagged, set: ['pin=ssl'], remove: [], by: 'ada', atMs: 1 };
    await database.transact((tx) => changeTags(tx, tag));
    const hold = (change: Partial<typeof HOLD> = {}) =>
      database.transact((tx) => placeHold(tx, platform, { request: { ...HOLD, ...change }, actor: 'ada' }));
    const names = new Map<string, string>();
    const add = async (name: string, agentId = first, state = 'pending') =>
      void names.set(await it.addUpdate({ name, agentId, state }), `${name} ${agentId.at(-1)}`);
    /** By each way in which a list is read; all have the same. */
    const list = async (held: 'true' | 'false', scope: readonly string[] | null = null) => {
      const filter = await withHeld(platform, { state: 'pending' as const, held });
      const page = { scope, limit: 100, after: null };
      const listed: string[][] = [];
      for (const sort of ['-discovered_at', 'name', 'hostname'] as const) {
        for (const mostSorted of [0, 10_000]) {
          const of = { ...page, filter, order: updateOrder(sort), mostSorted };
          const { rows, count } = await listUpdates(database.read, of);
          expect(rows.length).toBe(count);
          listed.push(rows.map(({ id }) => names.get(id) ?? id).toSorted());
        }
      }
      for (const mostHosts of [0, 10_000]) {
        const packages = { ...page, filter, order: packageOrder('name'), mostHosts };
        const updates = (await listPackages(database.read, packages)).rows.map((one) => one.updates);
        const { state: _, ...ofHosts } = filter;
        const hosts = { ...page, filter: ofHosts, order: updatedHostOrder('hostname'), mostHosts };
        const pending = (await listUpdatedHosts(database.read, hosts)).rows.map(
          ({ counts }) => counts.pending,
        );
        for (const sums of [updates, pending])
          expect(sums.reduce((sum, one) => sum + Number(one), 0)).toBe(listed[0]?.length);
      }
      for (const one of listed) expect(one).toEqual(listed[0]);
      return listed[0];
    };
    return { ...it, first, web, tagged, hold, add, list };
  }

  test('are none without holds', async () => {
    const it = await scene();
    await it.add('openssl');
    expect([await it.list('true'), await it.list('false')]).toEqual([[], ['openssl 1']]);
  });

  test('are found by the names, hosts, groups and tags of holds in force, each once', async () => {
    const it = await scene();
    for (const host of [it.first, it.web, it.tagged])
      for (const name of ['openssl', 'curl']) await it.add(name, host);
    await it.add('openssh', it.first, 'approved');
    await it.add('libcurl', it.tagged);
    const some = { kind: 'some' as const, groups: [], hosts: [] };
    await it.hold({ packages: ['Open*'], scope: { ...some, groups: ['web', 'none'] } });
    await it.hold({ scope: { ...some, hosts: [it.first, it.web] } });
    await it.hold({ packages: ['*curl'], scope: { ...some, tags: ['pin=ssl'] } });
    await it.hold({ ecosystems: ['npm'], packages: ['*'] });
    expect(await it.list('true')).toEqual(['curl 3', 'libcurl 3', 'openssl 1', 'openssl 2']);
    expect(await it.list('false')).toEqual(['curl 1', 'curl 2', 'openssl 3']);
    expect(await it.list('true', ['web'])).toEqual(['openssl 2']);
    it.clock.advance(Date.parse(HOLD.ends_at) - it.platform.now());
    expect(await it.list('true')).toEqual([]);
  });

  test('are named to a bulk approval by the same filter', async () => {
    const it = await scene();
    await it.add('openssl');
    await it.add('curl');
    await it.hold();
    const filter = { state: 'pending', held: true };
    const { status, body } = await it.call('POST', '/api/v1/updates/approve', { filter, confirm_count: 2 });
    expect([status, body.count]).toEqual([409, 1]);
  });
});
