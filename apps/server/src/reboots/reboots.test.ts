import { LOOK_MAX_AGE_MS } from '@tidegate/protocol/probes';
import { describe, expect, test } from 'vitest';
import { createListening, type Listening } from '../platform/listening.ts';
import { ENGINES } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createRebootScene, type SceneHost } from '../testing/reboot-scene.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { INTERVAL_MS } from './run-reboots.ts';

const MINUTE_MS = 60_000;
const LIMITS = { group: 'web', max_at_once: 1, min_healthy: 0, halt_after: 2 };
/** What becomes of the looks of a server that pauses. */
const PAUSES: [string, (before: Listening) => Listening][] = [
  ['was down', () => createListening(INTERVAL_MS)],
  ['stood still', (before) => before],
];
const BLOCKERS = [{ kind: 'user' as const, name: 'ada on pts/0' }];

describe.each(ENGINES)('reboots on $name', (engine) => {
  async function scene(count = 1) {
    const it = await createRebootScene(engine);
    const hosts: SceneHost[] = [];
    for (let n = 1; n <= count; n++) hosts.push(await it.host(n));
    const [first, second] = [hosts[0], hosts[1] ?? hosts[0]];
    if (!first || !second) throw new Error('no host');
    const limits = async (change: object) => {
      expect((await it.call('PUT', '/api/v1/reboot-slots', { ...LIMITS, ...change })).status).toBe(204);
    };
    const one = async () => (await it.call('GET', '/api/v1/reboots')).body.items[0];
    const slots = async () => (await it.call('GET', '/api/v1/reboot-slots')).body.items;
    const wait = async (ms: number) => {
      it.platform.clock.advance(ms);
      for (const host of hosts) await host.seen();
    };
    /** Queues, offers, and has the first host fetch its command. */
    const begin = async () => {
      await it.ask();
      await it.turn();
      const [command] = await first.fetch();
      if (command?.action !== 'reboot') throw new Error('no reboot');
      return command;
    };
    /** What each host waits for, in the order of the hosts. */
    const waits = async () => {
      const { body } = await it.call('GET', '/api/v1/reboots');
      return hosts.map(
        ({ agentId }) =>
          body.items.find(({ agent_id }: { agent_id: string }) => agent_id === agentId).waits_for,
      );
    };
    return { ...it, hosts, first, second, limits, one, slots, wait, waits, begin };
  }

  test('a host goes down with its slot, is proven by a new boot and then by its probes, and gives the slot back', async () => {
    const it = await scene();
    const command = await it.begin();
    expect(command).toMatchObject({
      params: { boot_id: 'boot-1', warn_minutes: 5, cause: 'the new kernel' },
      expires_at: '2026-11-21T10:05:00Z',
    });
    await it.first.says(command.command_id, { status: 'running' });
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'running', attempts: 1 });
    expect(await it.slots()).toMatchObject([
      { group: 'web', slots: [{ state: 'held', hostname: 'host-1' }] },
    ]);

    it.platform.clock.advance(2 * MINUTE_MS);
    await it.first.says(command.command_id, { status: 'success', boot_id: 'boot-2' });
    await it.turn();
    expect(await it.one(), 'its own word proves nothing').toMatchObject({ state: 'running' });
    await it.first.boot('boot-2');
    await it.turn();
    expect(await it.slots()).toMatchObject([{ slots: [{ state: 'proving' }] }]);
    await it.turn();
    expect(await it.one(), 'its probes of the boot before prove nothing').toMatchObject({ state: 'running' });
    it.platform.clock.advance(MINUTE_MS);
    await it.first.probes('green');
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'rebooted', boot_id: 'boot-1', new_boot_id: 'boot-2' });
    expect(await it.open()).toEqual([]);
    expect(await it.events('reboot_ended')).toMatchObject([{ state: 'rebooted', severity: 'info' }]);
    expect(await it.events('reboots_asked')).toMatchObject([
      { actor: 'ada', hosts: 1, reason: 'the new kernel' },
    ]);
  });

  test('only hosts that need it by the evidence of their present boot are queued, once', async () => {
    const it = await scene();
    await it.host(2, { need: 'not_needed' });
    await it.host(3, { need: 'unknown' });
    await (await it.host(4)).boot('boot-2');
    const plan = await it.ask({ dry_run: true });
    expect(plan.body).toEqual({
      ...{ dry_run: true, queued: 1, hosts: [{ agent_id: it.first.agentId, hostname: 'host-1' }] },
      left_out: [
        { why: 'not_needed', hosts: 1 },
        { why: 'unknown', hosts: 2 },
      ],
    });
    expect(await it.states()).toEqual([]);
    expect((await it.ask()).body).toMatchObject({ dry_run: false, queued: 1 });
    expect((await it.ask({ only_needed: false })).body).toMatchObject({
      ...{ queued: 3, left_out: [{ why: 'queued_already', hosts: 1 }] },
    });
    expect(await it.states()).toHaveLength(4);
    expect(await it.events('reboots_asked')).toMatchObject([{ hosts: 1 }, { hosts: 3 }]);
  });

  test('a slot is taken when the command is delivered, not before: a host that never fetches it keeps nobody waiting', async () => {
    const it = await scene(2);
    await it.ask();
    await it.turn();
    expect(await it.open()).toEqual([]);
    expect(await it.waits()).toEqual(['fetch', 'turn']);
    await it.wait(15 * MINUTE_MS);
    await it.turn();
    const commands = await it.second.fetch();
    expect(commands).toMatchObject([{ action: 'reboot' }]);
    expect(await it.first.fetch()).toEqual([]);
  });

  test('a blocked host gives its slot back at once, says what is in the way, and is asked again later', async () => {
    const it = await scene(2);
    const command = await it.begin();
    expect(await it.open()).toHaveLength(1);
    const retry_at = '2026-11-21T09:10:00Z';
    const reason = 'reboot_blocked: ada is logged in';
    await it.first.says(command.command_id, { status: 'refused', reason, blockers: BLOCKERS, retry_at });
    expect(await it.open()).toEqual([]);
    await it.turn();
    const row = (await it.call('GET', `/api/v1/reboots?agent_id=${it.first.agentId}`)).body.items[0];
    expect(row).toMatchObject({ state: 'queued', blockers: BLOCKERS, detail: reason, command_id: null });
    const notBeforeMs = Date.parse(row.not_before) - Date.parse(retry_at);
    expect(notBeforeMs).toBeGreaterThanOrEqual(0);
    expect(notBeforeMs).toBeLessThan(10 * MINUTE_MS);
    expect(await it.second.fetch(), 'the next one has its turn').toMatchObject([{ action: 'reboot' }]);
    await it.wait(20 * MINUTE_MS);
    await it.turn();
    expect(await it.first.fetch(), 'the slot is taken').toEqual([]);
  });

  test('a host that root never lets reboot fails for good, without a slot', async () => {
    const it = await scene();
    const command = await it.begin();
    const reason = 'host_policy (reboot_never): the policy of this host says never';
    await it.first.says(command.command_id, { status: 'refused', reason });
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'failed', detail: reason });
    expect(await it.open()).toEqual([]);
  });

  test('a host that does not come back keeps its slot; so many halt the group until a person releases one', async () => {
    const it = await scene(4);
    await it.limits({ max_at_once: 3, halt_after: 2 });
    await it.ask();
    await it.turn();
    const [one, two] = [await it.first.fetch(), await it.second.fetch()];
    expect([...one, ...two]).toHaveLength(2);
    it.platform.clock.advance(96 * MINUTE_MS);
    await it.turn();
    expect(await it.slots()).toMatchObject([
      { is_halted: true, slots: [{ state: 'failed' }, { state: 'failed' }] },
    ]);
    expect(await it.events('reboots_halted')).toMatchObject([{ group: 'web', failed: 2 }]);
    expect(await it.events('reboot_ended')).toMatchObject([
      { state: 'failed', detail: 'it did not come back', severity: 'error' },
      { state: 'failed' },
    ]);
    await it.wait(0);
    await it.turn();
    for (const host of it.hosts) expect(await host.fetch()).toEqual([]);

    const [{ slots }] = await it.slots();
    const release = (id: string) =>
      it.call('POST', `/api/v1/reboot-slots/${id}/release`, { reason: 'its disk was replaced' });
    expect((await release(slots[0].id)).status).toBe(204);
    expect((await release(slots[0].id)).status).toBe(404);
    expect(await it.events('reboot_slot_released')).toMatchObject([
      { actor: 'ada', reason: 'its disk was replaced' },
    ]);
    // The host whose turn it was before has left its command, and is asked again later.
    await it.wait(20 * MINUTE_MS);
    await it.turn();
    const given = await Promise.all(it.hosts.map((host) => host.fetch()));
    expect(given.flat(), 'three slots, one of them failed').toHaveLength(2);
  });

  test.each(PAUSES)(
    'a host fails only once a server that %s has given it the time to report',
    async (_, after) => {
      const it = await scene(2);
      await it.limits({ max_at_once: 2 });
      const before = createListening(INTERVAL_MS);
      await it.ask();
      await it.turns(before, INTERVAL_MS);
      for (const host of it.hosts) expect(await host.fetch()).toHaveLength(1);
      it.platform.clock.advance(96 * MINUTE_MS);
      const listening = after(before);
      await it.turn(listening);
      expect(await it.open()).toMatchObject([{ state: 'held' }, { state: 'held' }]);
      await it.first.boot('boot-2');
      await it.turns(listening, 2 * MINUTE_MS);
      await it.first.probes('green');
      await it.turns(listening, MINUTE_MS - INTERVAL_MS);
      expect(await it.states()).toEqual(['host-1 rebooted', 'host-2 running']);
      await it.turns(listening, INTERVAL_MS);
      expect(await it.states()).toEqual(['host-1 rebooted', 'host-2 failed']);
      expect(await it.open()).toMatchObject([{ state: 'failed', detail: 'it did not come back' }]);
    },
  );

  test.each(PAUSES)('a host that is back may report its probes to a server that %s', async (_, after) => {
    const it = await scene(2);
    await it.limits({ max_at_once: 2 });
    const before = createListening(INTERVAL_MS);
    await it.ask();
    await it.turns(before, INTERVAL_MS);
    for (const host of it.hosts) {
      await host.fetch();
      await host.boot('boot-2');
    }
    await it.turns(before, INTERVAL_MS);
    it.platform.clock.advance(30 * MINUTE_MS);
    const listening = after(before);
    await it.turn(listening);
    expect(await it.open()).toMatchObject([{ state: 'proving' }, { state: 'proving' }]);
    await it.first.probes('green');
    await it.turns(listening, 3 * MINUTE_MS);
    expect(await it.states()).toEqual(['host-1 rebooted', 'host-2 failed']);
  });

  test('a host that failed and comes back later still keeps its slot', async () => {
    const it = await scene(2);
    await it.begin();
    it.platform.clock.advance(96 * MINUTE_MS);
    await it.turn();
    await it.first.boot('boot-2');
    await it.first.probes('green');
    await it.wait(0);
    await it.turn();
    expect(await it.slots()).toMatchObject([{ slots: [{ state: 'failed' }] }]);
    expect(await it.second.fetch()).toEqual([]);
  });

  test('a host that failed is given no other reboot until its slot is released, and checks in as before', async () => {
    const it = await scene();
    await it.limits({ max_at_once: 5, halt_after: 5 });
    await it.begin();
    it.platform.clock.advance(96 * MINUTE_MS);
    await it.turn();
    expect((await it.ask()).body).toMatchObject({ queued: 1 });
    await it.wait(0);
    await it.turn();
    expect(await it.first.fetch()).toEqual([]);
    const [{ slots }] = await it.slots();
    await it.call('POST', `/api/v1/reboot-slots/${slots[0].id}/release`, { reason: 'it is fine' });
    expect(await it.first.fetch()).toMatchObject([{ action: 'reboot' }]);
  });

  test('a host whose probes stay red after the boot fails', async () => {
    const it = await scene();
    await it.begin();
    await it.first.boot('boot-2');
    await it.turn();
    it.platform.clock.advance(MINUTE_MS);
    await it.first.probes('red');
    it.platform.clock.advance(20 * MINUTE_MS);
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'failed', detail: 'it is back, and its probes are red' });
  });

  test('no host goes down while too few others of its group are up and well', async () => {
    const it = await scene(3);
    await it.limits({ max_at_once: 3, min_healthy: 2 });
    await it.ask();
    await it.turn();
    await it.second.probes('red');
    expect(await it.first.fetch(), 'one other is well').toEqual([]);
    expect(await it.open()).toEqual([]);
    expect(await it.waits(), 'of the second one two others are well').toEqual([
      'healthy',
      'fetch',
      'healthy',
    ]);
    expect(await it.second.fetch(), 'it is not well itself, and two others are').toMatchObject([{}]);
  });

  test('a host counts as well for a day after it was seen to be so', async () => {
    const it = await scene(3);
    await it.limits({ max_at_once: 3, min_healthy: 2 });
    await it.wait(LOOK_MAX_AGE_MS);
    await it.ask({ deadline: '2026-11-24T09:00:00Z' });
    await it.turn();
    expect(await it.waits()).toEqual(['fetch', 'fetch', 'fetch']);
    await it.wait(1);
    expect(await it.waits(), 'nobody knows how the others are').toEqual(['healthy', 'healthy', 'healthy']);
    expect(await it.first.fetch()).toEqual([]);
    for (const host of it.hosts) await host.probes('green');
    expect(await it.first.fetch()).toMatchObject([{}]);
  });

  test('a cancelled host leaves the queue; one that has the command is asked to call it off, and its result decides', async () => {
    const it = await scene(2);
    const command = await it.begin();
    const [two, one] = (await it.call('GET', '/api/v1/reboots')).body.items;
    expect((await it.call('DELETE', `/api/v1/reboots/${two.id}`)).body).toMatchObject({ state: 'cancelled' });
    expect((await it.call('DELETE', `/api/v1/reboots/${two.id}`)).status).toBe(404);
    await it.first.fetch([command.command_id]);
    expect((await it.call('DELETE', `/api/v1/reboots/${one.id}`)).status).toBe(200);
    await it.turn();
    expect(await it.open(), 'it may go down yet').toHaveLength(1);
    await it.first.says(command.command_id, {
      status: 'refused',
      reason: 'state_refused (taken_back): called off',
    });
    await it.turn();
    expect(await it.states()).toEqual(['host-1 cancelled', 'host-2 cancelled']);
    expect(await it.open()).toEqual([]);
  });

  test('what has not begun at the deadline is given up, and no command may begin after it', async () => {
    const it = await scene(2);
    await it.ask({ deadline: '2026-11-21T09:20:00Z' });
    await it.turn();
    expect(await it.first.fetch()).toMatchObject([{ expires_at: '2026-11-21T09:20:00Z' }]);
    await it.wait(20 * MINUTE_MS);
    await it.turn();
    expect(await it.states()).toEqual(['host-1 running', 'host-2 expired']);
    expect(await it.events('reboot_ended')).toMatchObject([{ state: 'expired', severity: 'warning' }]);
  });

  test('what has ended is kept for 90 days', async () => {
    const { platform, call, host, ask, turn, database } = await createRebootScene(engine);
    await host(1);
    const { body } = await ask();
    await turn();
    const rows = () => database.read.selectFrom('host_reboots').select('id').execute();
    const [one] = await rows();
    expect((await call('DELETE', `/api/v1/reboots/${one?.id}`)).status, JSON.stringify(body)).toBeLessThan(
      300,
    );
    await jumpAhead(platform, 90 * 86_400_000 + 1);
    await turn();
    expect(await rows()).toHaveLength(1);
    await believeClock(platform);
    await turn();
    expect(await rows()).toHaveLength(0);
  });

  test('a host that was restarted by itself meanwhile is given no command', async () => {
    const it = await scene();
    await it.ask();
    await it.first.boot('boot-2');
    await it.turn();
    expect(await it.one()).toMatchObject({
      state: 'rebooted',
      detail: 'it has been restarted since',
      attempts: 0,
    });
    expect(await it.first.fetch()).toEqual([]);
  });

  test('hosts of a blackout are passed over, and looked at again each hour: it may be ended early', async () => {
    const it = await scene(2);
    const times = { kind: 'once', starts_at: '2026-11-21T08:00:00Z', ends_at: '2026-11-21T12:00:00Z' };
    const scope = { kind: 'some', groups: [], hosts: [it.first.agentId] };
    const freeze = { name: 'sale', reason: 'the shop sells', scope, times };
    expect((await it.call('POST', '/api/v1/blackouts', freeze)).status).toBe(201);
    await it.ask();
    await it.turn();
    expect(await it.first.fetch()).toEqual([]);
    expect(await it.second.fetch()).toMatchObject([{ action: 'reboot' }]);
    expect((await it.call('GET', `/api/v1/reboots?agent_id=${it.first.agentId}`)).body.items).toMatchObject([
      { state: 'queued', not_before: '2026-11-21T10:00:00.000Z' },
    ]);
  });

  test('services are restarted by name, without a slot, and never those that a reboot is for', async () => {
    const it = await scene();
    const files = [{ path: '/usr/lib/libssl.so.3' }];
    const stale = (name: string, kind: 'service' | 'core' | 'session' | 'other') => ({
      ...{ name, kind, processes: 1, files, more_files: 0 },
    });
    await it.first.needs('needed', [
      ...[stale('nginx.service', 'service'), stale('dbus.service', 'core')],
      ...[stale('-.mount', 'service'), stale('ada', 'session'), stale('x', 'other')],
    ]);
    expect((await it.ask({ kind: 'restart_services' })).body).toMatchObject({ queued: 1 });
    await it.turn();
    const [command] = await it.first.fetch();
    expect(command).toMatchObject({ action: 'restart_services', params: { units: ['nginx.service'] } });
    expect(await it.open()).toEqual([]);
    const units = [{ unit: 'nginx.service', outcome: 'restarted' as const }];
    await it.first.says(command?.command_id ?? '', { status: 'success', units });
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'done', units: ['nginx.service'], outcomes: units });
  });

  test.each(PAUSES)('services that were restarted are reported to a server that %s', async (_, after) => {
    const it = await scene(2);
    const nginx = { name: 'nginx.service', kind: 'service' as const, processes: 1, more_files: 0 };
    for (const host of it.hosts) {
      await host.needs('not_needed', [{ ...nginx, files: [{ path: '/usr/lib/libssl.so.3' }] }]);
    }
    const before = createListening(INTERVAL_MS);
    await it.ask({ kind: 'restart_services' });
    await it.turns(before, INTERVAL_MS);
    const [command] = await it.first.fetch();
    await it.second.fetch();
    it.platform.clock.advance(4 * 60 * MINUTE_MS);
    const listening = after(before);
    await it.turn(listening);
    expect(await it.states()).toEqual(['host-1 running', 'host-2 running']);
    const units = [{ unit: 'nginx.service', outcome: 'restarted' as const }];
    await it.first.says(command?.command_id ?? '', { status: 'success', units });
    await it.turns(listening, 3 * MINUTE_MS);
    expect(await it.states()).toEqual(['host-1 done', 'host-2 failed']);
  });

  test('a row that the server did not write becomes no command', async () => {
    const it = await scene();
    const nowMs = it.platform.now();
    await writeRaw(it.database, 'host_reboots', {
      ...{ id: it.platform.newId(), agent_id: it.first.agentId, kind: 'reboot', boot_id: 'boot-1' },
      ...{ warn_minutes: 0, reason: 'x', asked_by: 'ada', asked_at: nowMs, deadline_at: nowMs + 3_600_000 },
      ...{ state: 'queued', not_before: nowMs, attempts: 0 },
    });
    await it.turn();
    expect(await it.first.fetch()).toEqual([]);
    expect(await it.states()).toEqual(['host-1 failed']);
  });

  test.each<[string, object, string]>([
    ['a deadline in the past', { deadline: '2026-11-21T08:59:00Z' }, '/deadline'],
    ['a deadline in more than 30 days', { deadline: '2026-12-22T09:00:00Z' }, '/deadline'],
    ['no host', { scope: { kind: 'some', groups: [], hosts: [] } }, '/scope'],
  ])('%s is refused', async (_, change, path) => {
    const it = await scene();
    expect(await it.ask(change)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    expect(await it.states()).toEqual([]);
  });
});
