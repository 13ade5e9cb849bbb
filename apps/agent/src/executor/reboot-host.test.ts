import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { resultPath } from '../jobs/job-folder.ts';
import { bringState, rebooting, restarting } from '../testing/attacks/wrong-reboots.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { createJobWorld, type JobWorld } from '../testing/job-world.ts';
import { BOOT_ID, NEXT_BOOT_ID } from '../testing/stand-in-host.ts';
import { DOWN_MAX_MS } from './reboot-host.ts';

const MINUTE_MS = 60_000;
const REBOOT = 'systemctl reboot --no-wall';

let world: JobWorld;
beforeEach(() => {
  world = createJobWorld();
});
afterEach(() => world[Symbol.dispose]());

async function resultOf(job: string) {
  const outcome = await world.execute(job);
  if (!outcome.ok) throw new Error(outcome.detail);
  return outcome.result.result;
}

/** A job that ends the executor when systemd is told to reboot, as a shutdown does. */
async function killedAt(moment: 'reboot' | 'warning', job: string): Promise<void> {
  const { control } = world.host;
  const killed = new Error('SIGKILL');
  const host = {
    ...control,
    reboot: async (options: { despiteInhibitors: boolean }) => {
      await control.reboot(options);
      throw killed;
    },
  };
  if (moment === 'warning') {
    world.onWait = (waitedMs) => {
      if (waitedMs === MINUTE_MS) throw killed;
    };
  }
  await expect(world.execute(job, moment === 'reboot' ? { host } : {})).rejects.toBe(killed);
  world.onWait = () => {};
}

describe('a reboot', () => {
  test('ends the boot once, and is proven by the id of the next one', async () => {
    world.host.comesUpAs(NEXT_BOOT_ID);
    const result = await resultOf(world.leaveJob(rebooting({ warn_minutes: 30 })));
    expect(result).toEqual({ status: 'success', boot_id: NEXT_BOOT_ID, finished_at: '2026-11-21T12:00:00Z' });
    // Nobody is logged in, so nobody is warned or waited for.
    expect(world.host.calls()).toEqual([REBOOT]);
  });

  test('warns logged-in users for the whole time, and reminds them', async () => {
    world.host.logIn({ user: 'ada' }, { user: 'gdm', kind: 'greeter' });
    world.host.comesUpAs(NEXT_BOOT_ID);
    const job = world.leaveJob(rebooting({ warn_minutes: 30 }));
    world.onWait = () => bringState(world, job);
    expect(await resultOf(job)).toMatchObject({ status: 'success', boot_id: NEXT_BOOT_ID });
    expect(world.host.calls()).toEqual([
      ...[30, 10, 5].map(
        (minutes) =>
          `wall Tidegate: this host restarts in ${minutes} minutes (kernel update). Save your work.`,
      ),
      'wall Tidegate: this host restarts in 1 minute (kernel update). Save your work.',
      'wall Tidegate: this host restarts now (kernel update).',
      REBOOT,
    ]);
    expect(world.waitedMs).toBe(30 * MINUTE_MS);
  });

  test('waits for a state of the end of its warning, and no longer than five minutes', async () => {
    world.host.logIn({ user: 'ada' });
    world.host.comesUpAs(NEXT_BOOT_ID);
    const job = world.leaveJob(rebooting({ warn_minutes: 5 }));
    world.onWait = (waitedMs) => {
      if (waitedMs === 8 * MINUTE_MS) bringState(world, job);
    };
    expect(await resultOf(job)).toMatchObject({ status: 'success' });
    expect(world.waitedMs).toBe(8 * MINUTE_MS);
  });

  test('is refused with the blockers by name, and the time to ask again', async () => {
    world.host.logIn({ user: 'bob' }, { user: 'ada', kind: 'user-early' }, { user: 'eve', state: 'closing' });
    world.host.leave('who', 'root     pts/0        2026-11-21 11:00 (192.0.2.7)\n');
    world.host.inhibit(
      { what: 'shutdown', who: 'backup', mode: 'block' },
      { what: 'shutdown', who: 'packagekit', mode: 'delay' },
      { what: 'sleep', who: 'player', mode: 'block' },
    );
    const result = await resultOf(world.leaveJob(rebooting()));
    expect(result).toEqual({
      status: 'refused',
      reason: 'reboot_blocked: user ada, user bob, user root, inhibitor backup: a reason',
      blockers: [
        { kind: 'user', name: 'ada' },
        { kind: 'user', name: 'bob' },
        { kind: 'user', name: 'root' },
        { kind: 'inhibitor', name: 'backup: a reason' },
      ],
      retry_at: '2026-11-21T12:15:00Z',
    });
    expect(world.host.calls()).toEqual([]);
  });

  test('is called off by what comes up during the warning', async () => {
    world.host.logIn({ user: 'ada' });
    const job = world.leaveJob(rebooting({ warn_minutes: 5 }));
    world.onWait = (waitedMs) => {
      bringState(world, job);
      if (waitedMs === MINUTE_MS) world.host.inhibit({ what: 'shutdown', who: 'backup', mode: 'block' });
    };
    expect(await resultOf(job)).toMatchObject({ blockers: [{ kind: 'inhibitor' }] });
    expect(world.host.calls().at(-1)).toContain('called off: it would disturb what runs now');
  });

  test.each([
    ['users whom root names block it even if they are warned', { users: ['ada'] }, 'refused', []],
    [
      'inhibitors that root ignores block nothing',
      { ignored_inhibitors: ['*'] },
      'success',
      [`${REBOOT} --ignore-inhibitors`],
    ],
  ])('%s', async (_, reboot_blockers, status, calls) => {
    const policy = { v: 1, reboot_blockers };
    writeFileSync(world.policy.path, JSON.stringify(policy), { mode: 0o644 });
    if (status === 'refused') world.host.logIn({ user: 'ada' });
    else world.host.inhibit({ what: 'shutdown', who: 'backup', mode: 'block' });
    world.host.comesUpAs(NEXT_BOOT_ID);
    expect(await resultOf(world.leaveJob(rebooting({ warn_minutes: 5 })))).toMatchObject({ status });
    expect(world.host.calls()).toEqual(calls);
  });

  test('is refused where logged-in users cannot be warned', async () => {
    world.host.logIn({ user: 'ada' });
    world.host.leave('wall-fails', '');
    expect(await resultOf(world.leaveJob(rebooting({ warn_minutes: 5 })))).toMatchObject({
      status: 'refused',
      blockers: [{ kind: 'other', name: expect.stringContaining('cannot be warned') }],
    });
  });

  test('fails when systemd refuses, and when the host does not go down', async () => {
    world.host.leave('reboot-fails', '');
    expect(await resultOf(world.leaveJob(rebooting()))).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^reboot_failed: .*refused by logind/),
    });
    world.host.remove('reboot-fails');
    expect(await resultOf(world.leaveJob(rebooting()))).toMatchObject({
      status: 'failed',
      reason: 'boot_id_unchanged: the host did not go down within 15 minutes',
    });
    expect(world.waitedMs).toBe(DOWN_MAX_MS);
  });
});

describe('an executor that is killed', () => {
  test('by the reboot proves it at its next start', async () => {
    const job = world.leaveJob(rebooting());
    world.host.comesUpAs(NEXT_BOOT_ID);
    await killedAt('reboot', job);
    expect(await resultOf(job)).toMatchObject({ status: 'success', boot_id: NEXT_BOOT_ID });
    expect(world.host.calls()).toEqual([REBOOT]);
  });

  test('after it told systemd waits for the end, and tells it no second time', async () => {
    const job = world.leaveJob(rebooting());
    await killedAt('reboot', job);
    expect(await resultOf(job)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('boot_id_unchanged'),
    });
    expect(world.host.calls()).toEqual([REBOOT]);
  });

  test('during the warning never reboots, and tells the users', async () => {
    world.host.logIn({ user: 'ada' });
    const job = world.leaveJob(rebooting({ warn_minutes: 5 }));
    await killedAt('warning', job);
    expect(await resultOf(job)).toMatchObject({ status: 'interrupted' });
    expect(world.host.calls()).toEqual([
      expect.stringContaining('restarts in 5 minutes'),
      expect.stringContaining('called off'),
    ]);
  });

  test('leaves one result, which a third start does not touch', async () => {
    const job = world.leaveJob(rebooting());
    world.host.comesUpAs(NEXT_BOOT_ID);
    await killedAt('reboot', job);
    await resultOf(job);
    const path = resultPath(world.stateFolder, basename(job));
    const before = readFileSync(path, 'utf8');
    expect((await world.execute(job)).ok).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(world.host.calls()).toEqual([REBOOT]);
  });
});

describe('services', () => {
  const OLD = { active: 'active', invocation: '01' };
  const NEW = { active: 'active', invocation: '02' };
  const observe = (...names: string[]) =>
    world.host.observed(
      names.map((name) => ({ name, kind: 'service' as const })),
      NOW_MS,
    );

  test('are restarted one by one, only those that run replaced files', async () => {
    observe('web.service', 'app@1.service');
    world.host.unit('web.service', OLD, NEW);
    world.host.unit('app@1.service', OLD, NEW);
    const result = await resultOf(
      world.leaveJob(restarting(['app@1.service', 'cron.service', 'web.service'])),
    );
    expect(result).toEqual({
      ...{ status: 'success', started_at: '2026-11-21T12:00:00Z', finished_at: '2026-11-21T12:00:00Z' },
      units: [
        { unit: 'app@1.service', outcome: 'restarted' },
        { unit: 'cron.service', outcome: 'not_stale' },
        { unit: 'web.service', outcome: 'restarted' },
      ],
    });
    expect(world.host.calls()).toEqual([
      'systemctl try-restart -- app@1.service',
      'systemctl try-restart -- web.service',
    ]);
  });

  test.each([
    ['stays down', OLD, { active: 'failed', invocation: '02' }, 'it is failed after the restart'],
    ['is the same run as before', OLD, OLD, 'it is the same run as before'],
    [
      'starts for ever',
      OLD,
      { active: 'activating', invocation: '02' },
      'it is activating after the restart',
    ],
    ['did not run', { active: 'inactive', invocation: '' }, NEW, 'it was inactive, and is left as it is'],
  ])('a service that %s has failed, and the others are restarted', async (_, before, after, detail) => {
    observe('lame.service', 'web.service');
    world.host.unit('lame.service', before, after);
    world.host.unit('web.service', OLD, NEW);
    const result = await resultOf(world.leaveJob(restarting(['lame.service', 'web.service'])));
    expect(result).toMatchObject({
      status: 'failed',
      reason: `restart_failed: lame.service: ${detail}`,
      units: [
        { unit: 'lame.service', outcome: 'failed', detail },
        { unit: 'web.service', outcome: 'restarted' },
      ],
    });
  });

  test('are not attempted after the hours of the host', async () => {
    observe('a.service', 'b.service');
    const hours = [{ days: ['sat'], from: '11:00', to: '12:01' }];
    writeFileSync(world.policy.path, JSON.stringify({ v: 1, hours }), { mode: 0o644 });
    world.host.unit('a.service', OLD, { active: 'activating', invocation: '02' });
    world.host.unit('b.service', OLD, NEW);
    world.onWait = () => {
      world.waitedMs = 2 * MINUTE_MS;
    };
    const result = await resultOf(world.leaveJob(restarting(['a.service', 'b.service'])));
    expect(result.units?.map(({ outcome }) => outcome)).toEqual(['failed', 'not_attempted']);
  });

  test('of the unit that runs the executor are left alone', async () => {
    observe('web.service');
    const host = { ...world.host.control, ownUnit: () => 'web.service' };
    expect(await world.failureOf(world.leaveJob(restarting(['web.service'])), { host })).toBe('core_service');
  });
});

test('a boot is told by the file of the kernel', () => {
  expect(world.host.control.bootId()).toBe(BOOT_ID);
  expect(readFileSync(join(world.host.root, 'proc/sys/kernel/random/boot_id'), 'utf8')).toBe(`${BOOT_ID}\n`);
});
