import { describe, expect, test } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { keepRetentionClock } from '../platform/retention/retention-clock.ts';
import { CLIENT_HOLD_MAX_MS } from '../reboot-slots/take-slot.ts';
import { ENGINES } from '../testing/engines.ts';
import { createFleetLockScene } from '../testing/fleet-lock-scene.ts';
import { RESTART_MAX_MS } from './progress-rules.ts';
import { PROVING_MAX_MS } from './settle-rules.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const YEARS_MS = 3_650 * DAY_MS;
const BLOCKED = { status: 'refused' as const, reason: 'reboot_blocked: ada is logged in' };
/** From its offer until a host fails that does not come back: an hour, the warning, and half an hour. */
const SLOT_MAX_MS = 95 * MINUTE_MS;

describe.each(ENGINES)('reboots after the clock was ahead on $name', (engine) => {
  async function scene() {
    const it = await createFleetLockScene(engine);
    const first = await it.host(1);
    const { clock } = it.platform;
    const one = async () => (await it.call('GET', '/api/v1/reboots')).body.items[0];
    /** The clock goes on, or back, by so much; the host checks in. */
    const wait = async (ms: number) => {
      clock.advance(ms);
      await first.seen();
    };
    const look = () => keepRetentionClock(it.platform);
    await look();
    /** Jumps ahead. */
    const ahead = async (ms = YEARS_MS) => {
      await wait(ms);
      await look();
    };
    /** Sets the clock back, which is believed. */
    const back = async () => {
      await wait(-YEARS_MS);
      await look();
      await it.turn();
    };
    /** Queued, offered and fetched, with a deadline of the clock. */
    const begin = async (change: object = {}) => {
      await it.ask({ deadline: rfc3339(it.platform.now() + DAY_MS), ...change });
      await it.turn();
      return (await first.fetch())[0];
    };
    const boot = async () => {
      await first.boot('boot-2');
      await it.turn();
    };
    return { ...it, clock, first, one, wait, look, ahead, back, begin, boot };
  }

  test('what a clock that was ahead has asked for ends once it is set back, and may be asked for again', async () => {
    const it = await scene();
    await it.ahead();
    const deadline = rfc3339(it.platform.now() + DAY_MS);
    expect((await it.ask({ deadline })).body).toMatchObject({ queued: 1 });
    await it.wait(-YEARS_MS);
    await it.turn();
    expect(await it.states(), 'the clock was last seen where it is not believed').toEqual(['host-1 queued']);
    await it.look();
    await it.turn();
    const detail = 'the clock of the server was ahead when it was asked for';
    expect(await it.one()).toMatchObject({ state: 'expired', detail });
    expect(await it.events('reboot_ended')).toMatchObject([
      { state: 'expired', detail, severity: 'warning' },
    ]);
    expect((await it.ask()).body).toMatchObject({ queued: 1 });
    await it.turn();
    expect(await it.first.fetch()).toMatchObject([{ action: 'reboot' }]);
  });

  test.each<[string, number, (it: Awaited<ReturnType<typeof scene>>) => Promise<unknown>]>([
    [
      'a blackout',
      3,
      (it) => {
        const [starts_at, ends_at] = [-1, 1].map((days) => rfc3339(it.platform.now() + days * DAY_MS));
        const times = { kind: 'once', starts_at, ends_at };
        const freeze = { name: 'sale', reason: 'the shop sells', scope: { kind: 'all' }, times };
        return it.call('POST', '/api/v1/blackouts', freeze);
      },
    ],
    [
      'the host',
      20,
      async (it) => {
        await it.turn();
        const [command] = await it.first.fetch();
        await it.first.says(command?.command_id ?? '', BLOCKED);
      },
    ],
  ])('what %s put off while the clock was ahead is due once it is set back', async (_, days, putOff) => {
    const it = await scene();
    await it.ask({ deadline: rfc3339(it.platform.now() + 28 * DAY_MS) });
    await it.ahead(days * DAY_MS);
    await putOff(it);
    await it.turn();
    const ahead = await it.one();
    expect(ahead).toMatchObject({ state: 'queued', waits_for: 'later' });
    await it.wait(-days * DAY_MS);
    await it.turn();
    expect(await it.one(), 'the clock was last seen where it is not believed').toEqual(ahead);
    await it.look();
    await it.turn();
    expect(await it.first.fetch()).toMatchObject([{ action: 'reboot' }]);
  });

  test('a host that is asked again in a week is not asked before', async () => {
    const it = await scene();
    await it.ask({ deadline: rfc3339(it.platform.now() + 28 * DAY_MS) });
    await it.turn();
    const [command] = await it.first.fetch();
    const retry_at = rfc3339(it.platform.now() + 7 * DAY_MS);
    const reason = 'host_policy (outside_hours): it has hours on Sundays';
    await it.first.says(command?.command_id ?? '', { status: 'refused', reason, retry_at });
    for (let n = 0; n < 2; n++) await it.turn();
    const { not_before, waits_for } = await it.one();
    expect(waits_for).toBe('later');
    expect(Date.parse(not_before)).toBeGreaterThanOrEqual(Date.parse(retry_at));
  });

  test('a slot that was given while the clock was ahead ends as if it had been given now', async () => {
    const it = await scene();
    await it.ahead();
    expect(await it.begin()).toMatchObject({ action: 'reboot' });
    const client = it.client('core-1', { token: await it.add('db'), group: 'db' });
    expect((await client.preReboot()).status).toBe(200);
    await it.back();
    it.clock.advance(CLIENT_HOLD_MAX_MS - 1);
    await it.turn();
    const states = async () =>
      (await it.open()).map(({ group_name, state }) => `${group_name} ${state}`).toSorted();
    expect(await states()).toEqual(['db held', 'web held']);
    it.clock.advance(1);
    await it.turn();
    expect(await states()).toEqual(['db failed', 'web held']);
    it.clock.advance(SLOT_MAX_MS - CLIENT_HOLD_MAX_MS);
    await it.turn();
    expect(await states()).toEqual(['db failed', 'web failed']);
    expect(await it.one()).toMatchObject({ state: 'failed', detail: 'it did not come back' });
  });

  test.each<[string, ('ahead' | 'back' | 'begin' | 'boot')[]]>([
    ['after the clock is set back', ['ahead', 'begin', 'back', 'boot']],
    ['while it is ahead', ['ahead', 'begin', 'boot', 'back']],
    ['while it is ahead, with a slot from before', ['begin', 'ahead', 'boot', 'back']],
  ])('a host that comes back %s is proven by a look at its probes since', async (_, steps) => {
    const it = await scene();
    for (const step of steps) await it[step]();
    expect(await it.open()).toMatchObject([{ state: 'proving' }]);
    it.clock.advance(MINUTE_MS);
    await it.first.probes('green');
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'rebooted' });
    expect(await it.open()).toEqual([]);
  });

  test('a host that came back then, and whose probes stay red, fails', async () => {
    const it = await scene();
    await it.ahead();
    await it.begin();
    await it.boot();
    await it.back();
    await it.first.probes('red');
    it.clock.advance(PROVING_MAX_MS);
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'failed', detail: 'it is back, and its probes are red' });
  });

  test('services whose restart was ordered then fail if the host does not answer', async () => {
    const it = await scene();
    const files = [{ path: '/usr/lib/libssl.so.3' }];
    const nginx = { name: 'nginx.service', kind: 'service' as const, processes: 1, files, more_files: 0 };
    await it.first.needs('not_needed', [nginx]);
    await it.ahead();
    expect(await it.begin({ kind: 'restart_services' })).toMatchObject({ action: 'restart_services' });
    await it.back();
    it.clock.advance(RESTART_MAX_MS - 1);
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'running' });
    it.clock.advance(1);
    await it.turn();
    expect(await it.one()).toMatchObject({ state: 'failed', detail: 'the host did not answer' });
  });
});
