import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProbeResult } from '@tidegate/protocol/probes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import { writeLook } from './look-file.ts';
import { type ProbeWatchOptions, watchProbes } from './probe-watch.ts';

const LOCAL_MS = Date.parse('2026-11-25T09:00:00Z');
let world: ChecksWorld;
let localMs: number;
let elapsedMs: number;
beforeEach(() => {
  world = createChecksWorld();
  [localMs, elapsedMs] = [LOCAL_MS, 0];
});
afterEach(() => world[Symbol.dispose]());

const lookFile = () => join(world.folder, 'look.json');
const requestFile = () => join(world.folder, 'probe-request');
const leave = (atMs: number, state: ProbeResult['state'] = 'green') =>
  writeLook(lookFile(), {
    ...{ v: 1, failed_units: null },
    report: { at: new Date(atMs).toISOString(), probes: [{ name: 'web', state }] },
  });

function watch(options: Partial<ProbeWatchOptions> = {}) {
  return watchProbes({
    ...{ policy: world.policy, lookFile: lookFile(), writerUid: ownUid() },
    runs: { by: 'unit', requestFile: requestFile(), isInstalled: () => true },
    ...{ nowMs: () => localMs, localMs: () => localMs, elapsedMs: () => elapsedMs },
    ...options,
  });
}

/** Time passes in which root's unit does this. */
const pauses = (unit: (waitedMs: number) => void) => {
  let waitedMs = 0;
  return async (ms: number) => {
    localMs += ms;
    waitedMs += ms;
    unit(waitedMs);
    return true;
  };
};

test('where root has named none nobody is asked, and the server is told so', async () => {
  const probes = watch();
  expect((await probes.look(pauses(() => {}))).probes).toEqual([]);
  expect(existsSync(requestFile())).toBe(false);
  expect(probes.unsent()).toMatchObject({ probes: [] });
});

describe('where root has named one', () => {
  beforeEach(() => {
    world.probe('web', { kind: 'tcp', port: 80 });
  });

  test('the unit is asked, and what it saw before it was asked does not count', async () => {
    leave(LOCAL_MS - 1, 'green');
    const report = await watch().look(pauses((waitedMs) => waitedMs === 1_000 && leave(localMs, 'red')));
    expect(report.probes).toEqual([{ name: 'web', state: 'red' }]);
    expect(readFileSync(requestFile(), 'utf8')).toBe(`${LOCAL_MS}\n`);
  });

  test('a unit that never answers leaves them unknown', async () => {
    leave(LOCAL_MS - 1, 'green');
    const report = await watch().look(pauses(() => {}));
    expect(report.probes).toEqual([{ name: 'web', state: 'unknown', detail: 'root has not run it' }]);
    expect(localMs - LOCAL_MS).toBeLessThan(10 * 60_000);
  });

  test('a unit that is not installed is not waited for', async () => {
    const runs = { by: 'unit', requestFile: requestFile(), isInstalled: () => false } as const;
    const report = await watch({ runs }).look(pauses(() => {}));
    expect(report.probes).toEqual([
      { name: 'web', state: 'unknown', detail: 'tidegate-probe.path is not installed' },
    ]);
    expect(localMs).toBe(LOCAL_MS);
    expect(existsSync(requestFile())).toBe(false);
  });

  test('without a unit an agent that is not root says that they are unknown', async () => {
    const report = await watch({ runs: null }).look(pauses(() => {}));
    expect(report.probes).toMatchObject([{ name: 'web', state: 'unknown' }]);
  });

  test('an agent that is root runs them itself', async () => {
    const look = async () => leave(localMs, 'green');
    const report = await watch({ runs: { by: 'self', look } }).look(pauses(() => {}));
    expect(report.probes).toEqual([{ name: 'web', state: 'green' }]);
  });

  test('a host whose clock is behind dates the look by the time of the server', async () => {
    const nowMs = () => localMs + 3_600_000;
    const look = async () => {
      leave(localMs, 'green');
      localMs += 2_000;
    };
    const report = await watch({ nowMs, runs: { by: 'self', look } }).look(pauses(() => {}));
    expect(report.at).toBe('2026-11-25T10:00:00.000Z');
  });

  test('a folder that cannot be trusted is unknown, not none', async () => {
    const policy = { ...world.policy, ownerUid: 12_345 };
    const report = await watch({ policy, runs: null }).look(pauses(() => {}));
    expect(report.probes).toMatchObject([{ state: 'unknown' }]);
  });
});

test('they are due after a start, and one and ten minutes after an installation', async () => {
  const probes = watch();
  const dueAt: number[] = [];
  for (elapsedMs = 0; elapsedMs <= 1_200_000; elapsedMs += 30_000) {
    if (elapsedMs === 300_000) probes.followUp();
    if (!probes.isDue()) continue;
    dueAt.push(elapsedMs / 1_000);
    await probes.look(pauses(() => {}));
  }
  expect(dueAt).toEqual([0, 360, 900]);
  expect([probes.newlyDue(), probes.newlyDue()]).toEqual([[60_000, 600_000], []]);
});

test('they are due again six hours after they last ran, for whatever reason that was', async () => {
  const probes = watch();
  const hour = 3_600_000;
  const dueAt: number[] = [];
  for (elapsedMs = 0; elapsedMs <= 24 * hour; elapsedMs += hour / 2) {
    if (elapsedMs === 7 * hour) await probes.look(pauses(() => {})); // the command `run_probes`
    if (!probes.isDue()) continue;
    dueAt.push(elapsedMs / hour);
    await probes.look(pauses(() => {}));
  }
  expect(dueAt).toEqual([0, 6, 13, 19]);
});

test('a report is sent once, and a newer one is not lost with an older', async () => {
  const probes = watch();
  const first = await probes.look(pauses(() => {}));
  const second = await probes.look(pauses(() => {}));
  probes.sent(first);
  expect(probes.unsent()).toBe(second);
  probes.sent(second);
  expect(probes.unsent()).toBeNull();
});
