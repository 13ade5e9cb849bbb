import { describe, expect, test } from 'vitest';
import { backUp, restore } from '../testing/backups.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import {
  createHousehold,
  type EnrolledHost,
  enrolHost,
  type LivingServer,
} from '../testing/restored-server.ts';

import { createTestPlatform } from '../testing/test-platform.ts';
import { createResyncGate, openNewResync } from './resync.ts';

const URL = '/api/v1/admin/resync';
const HOUR_MS = 3_600_000;

/** Two hosts that have renewed since the restored backup; tokens by their seq. */
async function setUp(engine: TestEngine, { resyncHours = null }: { resyncHours?: number | null } = {}) {
  const home = await createHousehold(engine);
  const first = await home.start();
  const hosts = [await enrolHost(first, 'machine-1'), await enrolHost(first, 'machine-2')] as const;
  const { to } = await backUp(home);
  const tokens: string[] = ['', hosts[0].refreshToken];
  for (const host of hosts) {
    for (let seq = 2; seq <= 5; seq++) {
      expect(await host.renew(first)).toBe(200);
      if (host === hosts[0]) tokens.push(host.refreshToken);
    }
  }
  await first.stop();
  const fresh = engine.name === 'postgres' ? { databaseUrl: (await engine.place()).databaseUrl } : {};
  const outcome = await restore({ ...home, config: { ...home.config, ...fresh } }, to, { resyncHours });
  expect(outcome.ok).toBe(true);
  const server = await home.start(fresh);
  return { home, server, hosts, tokens, token: await server.admin() };
}

async function present(
  server: LivingServer,
  host: EnrolledHost,
  refreshToken: string | undefined,
  from?: string,
) {
  const sent = { machineId: from ?? host.machineId, body: { refresh_token: refreshToken } };
  return server.call('POST', '/api/v1/agents/renew', sent);
}

async function eventsOf(server: LivingServer, type: string, token: string) {
  return (await server.call('GET', `/api/v1/events?type=${type}`, { token })).body.items;
}

const OPEN = { hours: 2, reason: 'disk died' };

describe.each(ENGINES)('3.5: renewals after a restore on $name', (engine) => {
  test('a token ahead of the database is reuse while no resync is open', async () => {
    const { server, hosts, token } = await setUp(engine);
    const state = await server.call('GET', URL, { token });
    expect(state.body).toMatchObject({ epoch: 2, active_families: 2, resync: null });
    expect(await hosts[0].renew(server)).toBe(401);
    const [reuse] = await eventsOf(server, 'REFRESH_TOKEN_REUSE', token);
    expect(reuse).toMatchObject({ severity: 'critical', content: { reason: 'ahead_of_database' } });
    // Forward only: a late resync brings no family back.
    expect((await server.call('POST', URL, { token, body: OPEN })).status).toBe(201);
    expect(await hosts[0].renew(server)).toBe(401);
    expect(await hosts[1].renew(server)).toBe(200);
  });

  test('an open resync accepts each family once, with a critical event', async () => {
    const { server, hosts, tokens, token } = await setUp(engine);
    const [host] = hosts;
    const opened = await server.call('POST', URL, { token, body: OPEN });
    expect(opened.body.resync).toMatchObject({ reason: 'disk died', opened_by: 'olga', resynced: 0 });
    expect((await server.call('POST', URL, { token, body: OPEN })).body.code).toBe('conflict');
    // From another machine it changes nothing and uses up nothing.
    expect((await present(server, host, tokens[3], 'machine-x')).body.code).toBe('MACHINE_ID_MISMATCH');
    const taken = await present(server, host, tokens[3]);
    expect(taken.body.refresh_token).toMatch(/^rt1\.[0-9a-f-]{36}\.4\./);
    const events = await eventsOf(server, 'REFRESH_RESYNC', token);
    expect(events).toMatchObject([
      { severity: 'critical', agent_id: host.agentId, content: { presented_seq: 3, database_seq: 1 } },
      { severity: 'critical', content: { act: 'opened', hours: 2, reason: 'disk died' } },
    ]);
    const state = await server.call('GET', URL, { token });
    expect(state.body.resync.resynced).toBe(1);
    const next = await present(server, host, taken.body.refresh_token);
    expect(next.status).toBe(200);
    expect(await hosts[1].renew(server)).toBe(200);
  });

  test('the second token ahead of the database is reuse, from anyone', async () => {
    const { server, hosts, tokens, token } = await setUp(engine);
    await server.call('POST', URL, { token, body: OPEN });
    const stolen = await present(server, hosts[0], tokens[3]);
    expect(stolen.status).toBe(200);
    expect((await present(server, hosts[0], tokens[5])).status).toBe(401);
    expect((await present(server, hosts[0], stolen.body.refresh_token)).status).toBe(401);
    expect(await eventsOf(server, 'REFRESH_TOKEN_REUSE', token)).toHaveLength(1);
  });

  test('it expires, or an operator closes it early', async () => {
    const { home, server, hosts, token } = await setUp(engine);
    await server.call('POST', URL, { token, body: { hours: 1, reason: 'x' } });
    expect((await server.call('DELETE', URL, { token })).status).toBe(204);
    expect((await server.call('DELETE', URL, { token })).status).toBe(404);
    expect(await hosts[0].renew(server)).toBe(401);
    await server.call('POST', URL, { token, body: { hours: 1, reason: 'x' } });
    home.clock.advance(HOUR_MS);
    expect(await hosts[1].renew(server)).toBe(401);
    expect((await server.call('GET', URL, { token: await server.admin() })).body.resync).toBeNull();
  });

  test('`--resync-hours` opens it with the restore', async () => {
    const { server, hosts, token } = await setUp(engine, { resyncHours: 72 });
    expect((await server.call('GET', URL, { token })).body.resync).toMatchObject({ opened_by: 'server' });
    expect([await hosts[0].renew(server), await hosts[1].renew(server)]).toEqual([200, 200]);
  });

  test('anything but 1 to 72 whole hours with a reason is 400 and opens nothing', async () => {
    const server = await (await createHousehold(engine)).start();
    const token = await server.admin();
    for (const body of [
      { hours: 0, reason: 'x' },
      { hours: 73, reason: 'x' },
      { hours: 1.5, reason: 'x' },
      { hours: 1, reason: '  ' },
      { hours: 1 },
      { hours: 1, reason: 'x', more: 1 },
    ]) {
      expect([body, (await server.call('POST', URL, { token, body })).status]).toEqual([body, 400]);
    }
    expect((await server.call('GET', URL, { token })).body.resync).toBeNull();
  });
});

test('a family that the journal names has no turn, whatever the database says', async () => {
  const [sqlite] = ENGINES;
  const database = await sqlite?.open();
  if (!database) throw new Error('SQLite is always there');
  const platform = createTestPlatform(database);
  const args = { familyId: 'f', nowMs: platform.now() };
  const isOpen = (named: boolean) =>
    database.transact((tx) => createResyncGate({ has: () => named }).isOpenFor(tx, args));
  await database.transact((tx) => openNewResync(tx, platform, { hours: 1, reason: 'x', actor: 'olga' }));
  expect([await isOpen(false), await isOpen(true)]).toEqual([true, false]);
});

test('a family whose last known token has expired was not in use at the backup: it cannot resync', async () => {
  const [sqlite] = ENGINES;
  if (!sqlite) throw new Error('SQLite is always there');
  const home = await createHousehold(sqlite);
  const first = await home.start();
  const host = await enrolHost(first, 'machine-1');
  const { to } = await backUp(home);
  home.clock.advance(80 * 24 * HOUR_MS);
  expect(await host.renew(first)).toBe(200);
  expect(await host.renew(first)).toBe(200);
  await first.stop();
  home.clock.advance(20 * 24 * HOUR_MS);
  expect((await restore(home, to, { resyncHours: 1 })).ok).toBe(true);
  const second = await home.start();
  expect(await host.renew(second)).toBe(401);
});
