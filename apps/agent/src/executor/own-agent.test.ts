import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TarEntry } from '@tidegate/support/tar';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programInArchive } from '../ecosystems/tidegate/release-rules.ts';
import { bytesOf } from '../testing/fleet.ts';
import {
  addInstalled,
  archiveOf,
  createOwnAgentWorld,
  createReleaseKey,
  type OwnAgentWorld,
  TARGET,
} from '../testing/own-agent-world.ts';
import { AGENT_UNIT, WATCH_MS } from './agent-trial.ts';
import { switchLink } from './agent-versions.ts';

const HOUR_MS = 3_600_000;
const RESTART = `systemctl restart -- ${AGENT_UNIT}`;
const OLD = { agent: '0.1.0', proven: '0.1.0' };
const NEW = { agent: '0.2.0', proven: '0.2.0' };

let world: OwnAgentWorld;
beforeEach(() => {
  world = createOwnAgentWorld();
});
afterEach(() => world[Symbol.dispose]());

/** The agent of this version checks in so long after it was started. */
function provesItself(job: string, version: string, { afterMs = 3_000, failing = [] as string[] } = {}) {
  world.onWait = (waitedMs) => {
    if (waitedMs >= afterMs) world.prove(job, version, failing);
  };
}

async function resultOf(job: string) {
  const outcome = await world.execute(job);
  if (!outcome.ok) throw new Error(outcome.detail);
  return outcome.result;
}

describe('an update of the agent itself', () => {
  test('is started beside the proven version, and takes its place when it has proved itself', async () => {
    const job = world.leaveOwnJob();
    world.onWait = (waitedMs) => {
      if (waitedMs < 8_000) expect(world.links()).toEqual({ agent: '0.2.0', proven: '0.1.0' });
      else world.prove(job, '0.2.0');
    };
    const { failure, result } = await resultOf(job);
    expect({ failure, status: result.status, installed: result.installed }).toEqual({
      ...{ failure: null, status: 'success' },
      installed: [{ name: 'tidegate-agent', version: '0.2.0', arch: TARGET }],
    });
    expect(result.updates?.map(({ outcome }) => outcome)).toEqual(['installed']);
    expect(world.links()).toEqual(NEW);
    expect(world.program('0.2.0')).toBe('program 0.2.0');
    expect(world.host.calls()).toEqual([RESTART]);
  });

  test.each([
    ['never checks in', () => {}, 'it did not check in within 10 minutes'],
    [
      'is the old one that checks in',
      (job: string) => provesItself(job, '0.1.0'),
      'it did not check in within 10 minutes',
    ],
    [
      'finds faults with itself',
      (job: string) => provesItself(job, '0.2.0', { failing: ['signing keys', 'folders'] }),
      'it found faults: signing keys, folders within 10 minutes',
    ],
    [
      'brings no newer signed state',
      (job: string) => {
        world.onWait = () => writeFileSync(join(job, 'proof.json'), '{"version":"0.2.0","failing":[]}');
      },
      'it brought no newer state that the server signed within 10 minutes',
    ],
    ['ends', () => world.host.unit(AGENT_UNIT, { active: 'failed', invocation: 'b' }, null), 'it ended'],
    ['cannot be started', () => world.host.leave('restart-fails', ''), 'systemd could not start it'],
  ])('is taken back when the new version %s', async (_, happens, why) => {
    const job = world.leaveOwnJob();
    happens(job);
    const { failure, result } = await resultOf(job);
    expect(failure).toBe('install_failed');
    expect(result.reason).toContain(`version 0.2.0 failed: ${why}`);
    expect(result.reason).toContain('this host is back at 0.1.0');
    expect(result.updates?.map(({ outcome }) => outcome)).toEqual(['failed']);
    expect(world.links()).toEqual(OLD);
    expect(world.waitedMs).toBeLessThanOrEqual(WATCH_MS);
    expect(world.host.calls()).toEqual([RESTART, RESTART]);
  });

  test('is not tried again before an hour, then a day has passed, and never after a third failure', async () => {
    expect(await world.failureOf(world.leaveOwnJob())).toBe('install_failed');
    const calls = world.host.calls().length;
    expect(await world.failureOf(world.leaveOwnJob())).toBe('agent_failed_before');
    world.waitedMs += HOUR_MS;
    expect(await world.failureOf(world.leaveOwnJob())).toBe('install_failed');
    world.waitedMs += HOUR_MS;
    expect(await world.failureOf(world.leaveOwnJob())).toBe('agent_failed_before');
    world.waitedMs += 23 * HOUR_MS;
    expect(await world.failureOf(world.leaveOwnJob())).toBe('install_failed');
    world.waitedMs += 48 * HOUR_MS;
    expect(await world.failureOf(world.leaveOwnJob())).toBe('agent_failed_before');
    expect(world.host.calls()).toHaveLength(3 * calls);
    // Another version is another matter.
    const job = world.leaveOwnJob({ version: '0.3.0' });
    provesItself(job, '0.3.0', { afterMs: 0 });
    expect(await world.failureOf(job)).toBeNull();
  });

  test('takes a trial back first whose job was removed', async () => {
    addInstalled(world.lib, '0.2.0');
    switchLink(world.lib, 'agent', '0.2.0');
    const job = world.leaveOwnJob({ version: '0.2.0' });
    provesItself(job, '0.2.0');
    expect(await world.failureOf(job)).toBeNull();
    expect(world.links()).toEqual(NEW);
    expect(world.program('0.2.0')).toBe('program 0.2.0');
  });

  test('that is in use already is no restart', async () => {
    const job = world.leaveOwnJob({ version: '0.1.0', from: '0.0.9' });
    const { result } = await resultOf(job);
    expect(result.updates?.map(({ outcome }) => outcome)).toEqual(['already_installed']);
    expect(world.host.calls()).toEqual([]);
  });

  test('replaces what an interrupted attempt left under its name, and keeps at most two old versions', async () => {
    mkdirSync(join(world.lib, 'versions/.0.0.4'));
    for (const old of ['0.0.1', '0.0.2', '0.0.3', '0.2.0']) addInstalled(world.lib, old);
    writeFileSync(join(world.lib, 'versions/0.2.0/tidegate-agent'), 'half a program');
    const job = world.leaveOwnJob();
    provesItself(job, '0.2.0');
    expect(await world.failureOf(job)).toBeNull();
    expect(world.program('0.2.0')).toBe('program 0.2.0');
    expect(
      world.versions().filter((version) => !['0.1.0', '0.2.0'].includes(version)).length,
    ).toBeLessThanOrEqual(2);
    expect(world.versions()).toContain('0.1.0');
    expect(world.versions().some((name) => name.startsWith('.'))).toBe(false);
  });
});

const fileAt = (path: string): TarEntry => ({
  kind: 'file',
  path,
  mode: 0o755,
  owner: 0,
  bytes: bytesOf('x'),
});
const PROGRAM = programInArchive('0.2.0', TARGET);

describe('an approved update of the agent is refused, and nothing changes', () => {
  test.each<[string, () => string, string]>([
    ['signed by another key', () => world.leaveOwnJob({ signedBy: createReleaseKey() }), 'release_refused'],
    [
      'with one byte of the checksums changed',
      () =>
        world.leaveOwnJob({
          spoil: (sums) => Buffer.from(sums.toString().replace(/^./, (one) => (one === '0' ? '1' : '0'))),
        }),
      'release_refused',
    ],
    [
      'that the checksums do not name',
      () => world.leaveOwnJob({ sums: `${'a'.repeat(64)}  other\n` }),
      'release_refused',
    ],
    [
      'that the checksums name with another hash',
      () => world.leaveOwnJob({ sums: `${'a'.repeat(64)}  tidegate-agent_0.2.0_${TARGET}.tar.gz\n` }),
      'release_refused',
    ],
    ['without checksums', () => world.leaveOwnJob({ noProof: true }), 'release_refused'],
    ['to an older version', () => world.leaveOwnJob({ version: '0.0.9' }), 'release_refused'],
    ['planned from another version', () => world.leaveOwnJob({ from: '0.0.9' }), 'plan_drift'],
    [
      'on a host without a release key',
      () => {
        rmSync(join(world.folder, 'release.pem'));
        return world.leaveOwnJob();
      },
      'release_refused',
    ],
    [
      "by root's policy",
      () => {
        writeFileSync(world.policy.path, '{"v":1,"agent_updates":"never"}', { mode: 0o644 });
        return world.leaveOwnJob();
      },
      'host_policy agent_updates_never',
    ],
    [
      'where versions do not lie side by side',
      () => {
        rmSync(join(world.lib, 'agent'));
        return world.leaveOwnJob();
      },
      'unsupported_host',
    ],
    [
      'whose archive has a link',
      () => {
        const link: TarEntry = { kind: 'link', path: PROGRAM, to: '/etc/shadow', mode: 0o777, owner: 0 };
        return world.leaveOwnJob({ archive: archiveOf('0.2.0', [link]) });
      },
      'install_failed',
    ],
    [
      'whose archive has a link beside the program',
      () => {
        const link: TarEntry = { kind: 'link', path: 'a', to: '/etc/shadow', mode: 0o777, owner: 0 };
        return world.leaveOwnJob({ archive: archiveOf('0.2.0', [fileAt(PROGRAM), link]) });
      },
      'install_failed',
    ],
    [
      'whose archive has the program twice',
      () => world.leaveOwnJob({ archive: archiveOf('0.2.0', [fileAt(PROGRAM), fileAt(PROGRAM)]) }),
      'install_failed',
    ],
    [
      'whose archive has no program',
      () => world.leaveOwnJob({ archive: archiveOf('0.2.0', [fileAt('usr/bin/other')]) }),
      'install_failed',
    ],
    [
      'whose archive is cut off',
      () => world.leaveOwnJob({ archive: archiveOf('0.2.0').subarray(0, 60) }),
      'install_failed',
    ],
    ['whose archive is none', () => world.leaveOwnJob({ archive: Buffer.from('hello') }), 'install_failed'],
  ])('%s', async (_, leave, failure) => {
    const job = leave();
    expect(await world.failureOf(job)).toBe(failure);
    expect(world.host.calls()).toEqual([]);
    if (failure !== 'unsupported_host') expect(world.links()).toEqual(OLD);
    expect(world.versions()).toEqual(['0.1.0']);
  });
});

class Killed extends Error {}

/** What the executor does to the host in a trial. */
type Act = 'startAgain' | 'showUnit' | 'pause';

describe('an executor that is killed during a trial', () => {
  const executeUntil = async (job: string, dies: (act: Act) => void) => {
    const { control } = world.host;
    const changed = {
      host: {
        ...control,
        startAgain: (unit: string) => {
          dies('startAgain');
          return control.startAgain(unit);
        },
        showUnit: (unit: string) => {
          dies('showUnit');
          return control.showUnit(unit);
        },
      },
      pause: async (ms: number) => {
        dies('pause');
        world.waitedMs += ms;
        world.onWait(world.waitedMs);
      },
    };
    return world.execute(job, changed);
  };

  test.each([0, 1, 2, 3, 4, 5])(
    'before its act %i goes on with the next one, to the same end',
    async (at) => {
      const job = world.leaveOwnJob();
      provesItself(job, '0.2.0', { afterMs: 8_000 });
      let acts = 0;
      const killed = executeUntil(job, () => {
        if (acts++ === at) throw new Killed();
      });
      await expect(killed).rejects.toThrow(Killed);
      const { result } = await resultOf(job);
      expect(result).toMatchObject({ status: 'success', updates: [{ outcome: 'installed' }] });
      expect(world.links()).toEqual(NEW);
    },
  );

  test('while it takes a version back takes it back', async () => {
    const job = world.leaveOwnJob();
    world.host.unit(AGENT_UNIT, { active: 'failed', invocation: 'b' }, null);
    let starts = 0;
    const killed = executeUntil(job, (act) => {
      if (act === 'startAgain' && ++starts === 2) throw new Killed();
    });
    await expect(killed).rejects.toThrow(Killed);
    // What is decided is decided, even if the version would prove itself now.
    world.host.unit(AGENT_UNIT, { active: 'active', invocation: 'c' }, null);
    world.prove(job, '0.2.0');
    const { result } = await resultOf(job);
    expect(result).toMatchObject({ status: 'failed', updates: [{ outcome: 'failed' }] });
    expect(world.links()).toEqual(OLD);
    expect(world.host.calls()).toEqual([RESTART, RESTART]);
  });

  test('again and again gives the version up', async () => {
    const job = world.leaveOwnJob();
    for (let time = 0; time < 3; time += 1) {
      const killed = executeUntil(job, (act) => {
        if (act === 'pause') throw new Killed();
      });
      await expect(killed).rejects.toThrow(Killed);
    }
    const { result } = await resultOf(job);
    expect(result.reason).toContain('the executor was interrupted 3 times');
    expect(world.links()).toEqual(OLD);
  });

  test('of another command says only that it was interrupted', async () => {
    const job = world.leaveJob();
    const killed = world.execute(job, {
      installerOf: () => ({
        prepare: async () => {
          throw new Killed();
        },
      }),
    });
    await expect(killed).rejects.toThrow(Killed);
    expect((await resultOf(job)).result.status).toBe('interrupted');
    expect(basename(job)).toHaveLength(36);
  });
});
