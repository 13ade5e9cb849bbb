import { describe, expect, test } from 'vitest';
import { createListening } from '../platform/listening.ts';
import { CLIENT_HOLD_MAX_MS } from '../reboot-slots/take-slot.ts';
import { INTERVAL_MS } from '../reboots/run-reboots.ts';
import { CLIENT_PATIENCE_MS } from '../reboots/settle-slots.ts';
import { ENGINES } from '../testing/engines.ts';
import { createFleetLockScene } from '../testing/fleet-lock-scene.ts';
import { BLACKOUT } from '../testing/standing.ts';

const WELL = { status: 200, body: {} };
const refused = (kind: string, status = 409) => ({ status, body: { kind, value: expect.any(String) } });

describe.each(ENGINES)('FleetLock on $name', (engine) => {
  const scene = () => createFleetLockScene(engine);

  test('the calls do not exist until a group has a token, and again once the last is revoked', async () => {
    const it = await scene();
    const stranger = it.client('core-1', { token: it.noToken });
    expect(await stranger.preReboot()).toEqual(refused('not_found', 404));
    const token = await it.add('web');
    expect(await stranger.preReboot()).toEqual(refused('unauthenticated', 401));
    expect(await it.client('core-1', { token }).preReboot()).toEqual(WELL);
    expect(await it.revoke(token.id)).toBe(true);
    expect(await it.client('core-1', { token }).steadyState()).toEqual(refused('not_found', 404));
    expect(await it.revoke(token.id), 'once').toBe(false);
    expect(await it.events('FLEET_LOCK_TOKEN_CHANGED')).toEqual([
      { change: 'created', id: token.id, group: 'web', severity: 'warning', actor: 'ada' },
      { change: 'revoked', id: token.id, group: 'web', severity: 'warning', actor: 'ada' },
    ]);
  });

  test('a client takes one slot, however often it asks, and gives it back', async () => {
    const it = await scene();
    const client = it.client('core-1', { token: await it.add('web') });
    expect(await client.steadyState(), 'without a slot it is well, too').toEqual(WELL);
    expect(await client.preReboot()).toEqual(WELL);
    const [taken] = await it.open();
    it.platform.clock.advance(1_000);
    expect(await client.preReboot()).toEqual(WELL);
    expect(await it.open(), 'asking again moves no end').toEqual([taken]);
    expect(await client.steadyState()).toEqual(WELL);
    expect(await it.database.read.selectFrom('reboot_slots').selectAll().execute()).toEqual([]);
    expect(await it.events('fleet_lock_changed')).toMatchObject([
      { change: 'granted', group: 'web', client: 'core-1', severity: 'info', actor: 'fleet-lock' },
      { change: 'returned', group: 'web', client: 'core-1' },
    ]);
  });

  test('a client and an enrolled host of its group wait for each other', async () => {
    const it = await scene();
    const host = await it.host(1);
    const client = it.client('core-1', { token: await it.add('web') });
    await it.ask();
    await it.turn();
    expect(await client.preReboot()).toEqual(WELL);
    expect(await host.fetch(), 'offered before the client asked').toEqual([]);
    expect(await client.steadyState()).toEqual(WELL);
    expect(await host.fetch()).toMatchObject([{ action: 'reboot' }]);
    expect(await client.preReboot()).toEqual(refused('no_free_slot'));
    expect(await it.events('fleet_lock_changed')).toHaveLength(2);

    await host.boot('boot-2');
    await it.turn();
    expect(await client.preReboot(), 'up is not well').toEqual(refused('no_free_slot'));
    it.platform.clock.advance(1_000);
    await host.probes('green');
    await it.turn();
    expect(await client.preReboot()).toEqual(WELL);
  });

  test('a client that is silent keeps its slot until a person releases it', async () => {
    const it = await scene();
    const token = await it.add('web');
    const client = it.client('core-1', { token });
    await it.limits({ max_at_once: 3, halt_after: 1 });
    expect(await client.preReboot()).toEqual(WELL);
    it.platform.clock.advance(CLIENT_HOLD_MAX_MS - 1);
    await it.turn();
    expect(await it.open()).toMatchObject([{ state: 'held' }]);
    it.platform.clock.advance(1);
    await it.turn();
    const [slot] = await it.open();
    expect(slot).toMatchObject({ state: 'failed', client_id: 'core-1', detail: expect.any(String) });
    expect(await it.events('fleet_lock_changed')).toMatchObject([
      { change: 'granted' },
      { change: 'failed', group: 'web', client: 'core-1', severity: 'error', actor: 'server' },
    ]);
    expect(await it.events('reboots_halted')).toMatchObject([{ group: 'web', failed: 1 }]);
    expect((await it.call('GET', '/api/v1/reboot-slots')).body.items).toMatchObject([
      { is_halted: true, slots: [{ hostname: 'core-1', agent_id: null, command_id: null, state: 'failed' }] },
    ]);

    expect(await it.client('core-2', { token }).preReboot()).toEqual(refused('group_halted'));
    expect(await client.preReboot()).toEqual(refused('slot_failed'));
    expect(await client.steadyState(), 'it comes back too late').toEqual(refused('slot_failed'));
    const url = `/api/v1/reboot-slots/${slot?.id}/release`;
    expect((await it.call('POST', url, { reason: 'disk replaced' })).status).toBe(204);
    expect(await it.events('reboot_slot_released')).toMatchObject([{ client: 'core-1', actor: 'ada' }]);
    expect(await client.steadyState()).toEqual(WELL);
    expect(await client.preReboot()).toEqual(WELL);
  });

  test('a client whose hour ends while the server is down has the time to say that it is back', async () => {
    const it = await scene();
    const token = await it.add('web');
    const [quick, dead] = [it.client('core-1', { token }), it.client('core-2', { token })];
    await it.limits({ max_at_once: 2 });
    for (const client of [quick, dead]) expect(await client.preReboot()).toEqual(WELL);
    it.platform.clock.advance(2 * CLIENT_HOLD_MAX_MS);
    const listening = createListening(INTERVAL_MS);
    await it.turn(listening);
    await it.turns(listening, CLIENT_PATIENCE_MS - INTERVAL_MS);
    expect(await quick.steadyState()).toEqual(WELL);
    expect(await it.open()).toMatchObject([{ state: 'held', client_id: 'core-2' }]);
    await it.turns(listening, INTERVAL_MS);
    expect(await it.open()).toMatchObject([{ state: 'failed', client_id: 'core-2' }]);
    expect(await dead.steadyState()).toEqual(refused('slot_failed'));
  });

  test('a blackout of its group withholds going down, also from who holds a slot, and never coming back', async () => {
    const it = await scene();
    const client = it.client('core-1', { token: await it.add('web') });
    expect(await client.preReboot()).toEqual(WELL);
    const declare = async (group: string) => {
      const scope = { kind: 'some', groups: [group], hosts: [] };
      const times = { kind: 'once', starts_at: '2026-11-21T08:00:00Z', ends_at: '2026-11-22T12:00:00Z' };
      const blackout = { ...BLACKOUT, name: `Freeze of ${group}`, scope, times };
      expect((await it.call('POST', '/api/v1/blackouts', blackout)).status).toBe(201);
    };
    await declare('db');
    expect(await client.preReboot()).toEqual(WELL);
    await declare('web');
    expect(await client.preReboot()).toEqual(refused('blackout'));
    expect(await client.steadyState()).toEqual(WELL);
    expect(await client.preReboot()).toEqual(refused('blackout'));
    expect(await it.open()).toEqual([]);
  });

  test('so many enrolled hosts of the group must be well as when one of them asks', async () => {
    const it = await scene();
    const client = it.client('core-1', { token: await it.add('web') });
    await it.limits({ min_healthy: 1 });
    expect(await client.preReboot()).toEqual(refused('too_few_healthy'));
    await it.host(1);
    expect(await client.preReboot()).toEqual(WELL);
  });

  test('a token opens one group: another is refused, and has a client of the same name of its own', async () => {
    const it = await scene();
    const [web, db] = [await it.add('web'), await it.add('db')];
    expect(await it.client('core-1', { token: web, group: 'db' }).preReboot()).toEqual(
      refused('wrong_group', 403),
    );
    expect(await it.client('core-1', { token: web }).preReboot()).toEqual(WELL);
    expect(await it.client('core-1', { token: db, group: 'db' }).preReboot()).toEqual(WELL);
    const back = it.client('core-1', { token: web, group: 'db' }).steadyState();
    expect(await back).toEqual(refused('wrong_group', 403));
    expect((await it.open()).map(({ group_name }) => group_name).toSorted()).toEqual(['db', 'web']);
  });

  test('who has no token of the group learns and costs nothing, whatever it sends', async () => {
    const it = await scene();
    const [web, db] = [await it.add('web'), await it.add('db')];
    const wrong = [it.noToken, { ...web, secret: db.secret }, { ...web, id: db.id }];
    for (const token of wrong) {
      for (const body of ['{', it.body('core-1', 'web')]) {
        const said = await it.post('/v1/pre-reboot', { token, body });
        expect(said).toMatchObject(refused('unauthenticated', 401));
        expect(said.headers['www-authenticate']).toBe('Basic realm="fleet-lock"');
      }
    }
    expect(await it.post('/v1/pre-reboot', { body: '{' })).toMatchObject(refused('unauthenticated', 401));
    expect(await it.open()).toEqual([]);
    expect(await it.events('fleet_lock_changed')).toEqual([]);
    const kept = JSON.stringify(await it.database.read.selectFrom('fleet_lock_tokens').selectAll().execute());
    expect(kept).not.toContain(web.secret);
  });

  test('a group has two tokens at most, so that one can take the place of the other', async () => {
    const it = await scene();
    const first = await it.add('web');
    const second = await it.add('web');
    await expect(it.add('web')).rejects.toThrow('group_full');
    await it.revoke(first.id);
    expect(await it.client('core-1', { token: first }).preReboot()).toEqual(refused('unauthenticated', 401));
    expect(await it.client('core-1', { token: second }).preReboot()).toEqual(WELL);
    await it.add('web');
    await expect(it.add('my group')).rejects.toThrow('group_form');
  });

  test('the body is JSON whatever media type is named, here and nowhere else', async () => {
    const it = await scene();
    const token = await it.add('web');
    const body = it.body('core-1', 'web');
    for (const type of [undefined, 'text/plain', 'application/json']) {
      expect(await it.post('/v1/pre-reboot', { token, body, type })).toMatchObject(WELL);
    }
    const elsewhere = await it.app.inject({ method: 'POST', url: '/api/v1/reboots', payload: body });
    expect(elsewhere.statusCode).toBe(415);
  });

  test.each<[string, string]>([
    ['no JSON', '{'],
    ['no body', ''],
    ['a key twice', '{"client_params":{"id":"a","id":"b","group":"web"}}'],
    ['no id', '{"client_params":{"group":"web"}}'],
    ['an id with a space', '{"client_params":{"id":"a b","group":"web"}}'],
    ['an id that is too long', `{"client_params":{"id":"${'x'.repeat(129)}","group":"web"}}`],
    ['a member too many', '{"client_params":{"id":"a","group":"web"},"x":1}'],
  ])('%s is refused in the form of the protocol', async (_, body) => {
    const it = await scene();
    const said = await it.post('/v1/pre-reboot', { token: await it.add('web'), body });
    expect(said).toMatchObject(refused('invalid_request', 400));
    expect(said.headers['content-type']).toMatch(/^application\/json/);
    expect(await it.open()).toEqual([]);
  });

  test('without the header of the protocol nothing is done: a browser cannot send it by a form', async () => {
    const it = await scene();
    const token = await it.add('web');
    const body = it.body('core-1', 'web');
    for (const protocol of [null, 'TRUE', 'false']) {
      const said = await it.post('/v1/pre-reboot', { token, body, protocol });
      expect(said).toMatchObject(refused('invalid_request', 400));
    }
    expect(await it.open()).toEqual([]);
  });

  test('one token is limited, from however many addresses it is used', async () => {
    const it = await createFleetLockScene(engine, { requests: 2 });
    const [web, db] = [await it.add('web'), await it.add('db')];
    const client = it.client('core-1', { token: web });
    expect(await client.preReboot()).toEqual(WELL);
    expect(await client.steadyState()).toEqual(WELL);
    expect(await client.preReboot()).toEqual(refused('rate_limited', 429));
    expect(await it.client('core-1', { token: db, group: 'db' }).preReboot()).toEqual(WELL);
  });

  test('a token that the server did not write opens nothing', async () => {
    const it = await scene();
    const token = await it.add('db');
    await it.database.transact((tx) =>
      tx.updateTable('fleet_lock_tokens').set({ group_name: 'web' }).execute(),
    );
    expect(await it.client('core-1', { token }).preReboot()).toEqual(refused('unauthenticated', 401));
  });
});
