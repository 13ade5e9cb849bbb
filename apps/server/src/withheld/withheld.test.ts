import { describe, expect, test } from 'vitest';
import { changeTags } from '../agents/tag-store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { BLACKOUT, HOLD } from '../testing/standing.ts';
import { heldOfPackages } from './held-of-packages.ts';

describe.each(ENGINES)('what keeps a host as it is, on $name,', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const read = async (agentId = it.agentId) => {
      const { status, body } = await it.call('GET', `/api/v1/agents/${agentId}/withheld`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const post = async (url: string, body: object) => {
      const answer = await it.call('POST', url, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body;
    };
    const hold = (change: object = {}) => post('/api/v1/holds', { ...HOLD, ...change });
    const markSecurity = (id: string) =>
      it.database.transact((tx) =>
        tx.updateTable('updates').set({ security: 1 }).where('id', '=', id).execute(),
      );
    return { ...it, read, post, hold, markSecurity };
  }

  test('is nothing at first, and what is installed is not known before the host reports it', async () => {
    const it = await scene();
    await it.addUpdate();
    await it.addUpdate({ name: 'curl', state: 'failed' });
    expect(await it.read()).toEqual({
      ...{
        as_of: '2026-11-21T09:00:00.000Z',
        pending: 1,
        open: 2,
        installed: null,
        holds: [],
        blackout: null,
      },
      held: { updates: 0, security_updates: 0, first_end: null, last_end: null },
      own_holds: { total: 0, packages: [] },
    });
  });

  test('counts what its holds keep back, security updates apart, and nothing of other hosts', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    await it.markSecurity(await it.addUpdate());
    await it.addUpdate({ name: 'curl' });
    await it.addUpdate({ name: 'vim' });
    await it.addUpdate({ name: 'openssl', state: 'rejected', version: '9' });
    const late = await it.hold({ packages: ['openssl', 'curl'], ends_at: '2027-03-01T00:00:00Z' });
    const tagged = { kind: 'some', groups: [], hosts: [], tags: ['pin=ssl'] };
    const { id: byTag } = await it.hold({ scope: tagged });
    await it.hold({ packages: ['vim'], scope: { kind: 'some', groups: [], hosts: [other] } });
    const held = { updates: 2, security_updates: 1 };
    const end = '2027-03-01T00:00:00.000Z';
    expect(await it.read()).toMatchObject({
      pending: 3,
      held: { ...held, first_end: end, last_end: end },
      holds: [{ id: late.id, packages: ['openssl', 'curl'], reason: HOLD.reason, ends_at: end, ...held }],
    });
    const tag = { agentId: it.agentId, set: ['pin=ssl'], remove: [], by: 'ada', atMs: 1 };
    await it.database.transact((tx) => changeTags(tx, tag));
    const { held: both, holds } = await it.read();
    expect(both).toEqual({ ...held, first_end: '2026-12-01T00:00:00.000Z', last_end: end });
    expect(holds.map((one: { id: string; updates: number }) => [one.id, one.updates])).toEqual([
      [byTag, 1],
      [late.id, 2],
    ]);
    expect(await it.read(other)).toMatchObject({ pending: 0, held: { updates: 0 }, holds: [] });
  });

  test('is the same in the list of hosts', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2, group: 'web' });
    const { agentId: free } = await insertTestAgent(it.database, { n: 3 });
    for (const agentId of [it.agentId, other, free]) {
      for (const name of ['openssl', 'curl', 'linux-image']) await it.addUpdate({ agentId, name });
    }
    await it.markSecurity(await it.addUpdate({ agentId: other, name: 'linux-headers' }));
    const items = async () => (await it.call('GET', '/api/v1/agents')).body.items;
    const nothing = { updates: 0, security_updates: 0, first_end: null, last_end: null };
    expect((await items()).map((one: { held_updates: object }) => one.held_updates)).toEqual([
      nothing,
      nothing,
      nothing,
    ]);
    await it.hold({ packages: ['openssl'], scope: { kind: 'some', groups: [], hosts: [it.agentId] } });
    const web = { kind: 'some', groups: ['web'], hosts: [] };
    await it.hold({ packages: ['linux-*', 'openssl'], scope: web, ends_at: '2027-03-01T00:00:00Z' });
    await it.hold({ packages: ['openssl'], scope: web });
    for (const { id, held_updates: held } of await items()) expect(held).toEqual((await it.read(id)).held);
    const one = await it.call('GET', `/api/v1/agents/${other}`);
    expect(one.body.held_updates).toEqual({
      ...{ updates: 3, security_updates: 1 },
      ...{ first_end: '2026-12-01T00:00:00.000Z', last_end: '2027-03-01T00:00:00.000Z' },
    });
    expect((await it.read(free)).held).toEqual(nothing);
  });

  test('of a package is kept back on the hosts of an operator, until the ends of the holds that do', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2, group: 'web' });
    for (const agentId of [it.agentId, other]) {
      for (const name of ['openssl', 'curl', 'linux-image']) await it.addUpdate({ agentId, name });
    }
    await it.markSecurity(await it.addUpdate({ agentId: other, name: 'linux-headers' }));
    const web = { kind: 'some', groups: ['web'], hosts: [] };
    await it.hold({ packages: ['openssl'], scope: { kind: 'some', groups: [], hosts: [it.agentId] } });
    await it.hold({ packages: ['linux-*', 'openssl'], scope: web, ends_at: '2027-03-01T00:00:00Z' });
    const names = ['openssl', 'curl', 'linux-headers', 'linux-image', 'absent'];
    const packages = names.map((name) => ({ ecosystem: 'apt' as const, name }));
    const [first, last] = ['2026-12-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z'];
    const held = (updates: number, security: number, ends: readonly [string, string]) => ({
      ...{ updates, security_updates: security, first_end: ends[0], last_end: ends[1] },
    });
    expect(await heldOfPackages(it.platform, { packages, scope: null })).toEqual(
      new Map([
        [0, held(2, 0, [first, last])],
        [2, held(1, 1, [last, last])],
        [3, held(1, 0, [last, last])],
      ]),
    );
    const bound = await heldOfPackages(it.platform, { packages, scope: ['web'] });
    expect(bound.get(0)).toEqual(held(1, 0, [last, last]));
    expect((await heldOfPackages(it.platform, { packages, scope: ['db'] })).size).toBe(0);
  });

  test('names the holds of its package managers beside', async () => {
    const it = await scene();
    const row = { agent_id: it.agentId, ecosystem: 'apt', arch: 'amd64', version: '1' };
    const packages = ['b', 'a', 'c'].map((name) => ({ ...row, name, held: name === 'c' ? 0 : 1 }));
    const report = {
      ...{
        agent_id: it.agentId,
        ecosystem: 'apt',
        digest: 'x',
        scanned_at: 1,
        received_at: 1,
        complete: 1,
        package_count: 3,
      },
    };
    await it.database.transact(async (tx) => {
      await tx
        .insertInto('inventory_reports')
        .values({ ...report, ecosystem: 'npm', package_count: 0 })
        .execute();
    });
    expect(await it.read()).toMatchObject({ installed: null });
    await it.database.transact(async (tx) => {
      await insertInstalled(tx, packages);
      await tx.insertInto('inventory_reports').values(report).execute();
    });
    const named = (name: string) => ({ ecosystem: 'apt', name, version: '1' });
    expect(await it.read()).toMatchObject({
      installed: 3,
      own_holds: { total: 2, packages: [named('a'), named('b')] },
    });
  });

  test('names the blackout that withholds its commands, until the end of the last that follows', async () => {
    const it = await scene();
    const once = (starts_at: string, ends_at: string) => ({ times: { kind: 'once', starts_at, ends_at } });
    const blackouts = '/api/v1/blackouts';
    const freeze = await it.post(blackouts, {
      ...BLACKOUT,
      ...once('2026-11-21T08:00:00Z', '2026-11-21T12:00:00Z'),
    });
    await it.post(blackouts, {
      ...{ ...BLACKOUT, name: 'Next' },
      ...once('2026-11-21T12:00:00Z', '2026-11-22T00:00:00Z'),
    });
    expect((await it.read()).blackout).toEqual({
      ...{ id: freeze.id, name: BLACKOUT.name, until: '2026-11-22T00:00:00.000Z' },
    });
    it.clock.advance(Date.parse('2026-11-22T00:00:00Z') - it.platform.now());
    expect((await it.read()).blackout).toBeNull();
  });
});
