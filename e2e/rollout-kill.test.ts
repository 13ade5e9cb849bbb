import { randomInt } from 'node:crypto';
import type { AptSet } from '@tidegate/testkit/apt-packages';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { REST, ringOf } from '../apps/server/src/testing/rollout-rings.ts';
import { finish, type Host, must } from './harness/host.ts';
import { liftLimits, type Operator, pause } from './harness/operator.ts';
import { newestRollout, publishRings } from './harness/rollouts.ts';
import { OFTEN, type ServerProcess } from './harness/server-process.ts';
import { TRACE, tracing } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const WAVES = 10;
/** Of the server, in each wave. */
const KILLS = 5;
/** Longest time between the start of a server and its end. */
const UP_MAX_MS = 3_000;
const WAVE_MAX_MS = 120_000;
const NAME = 'rolling';
const PACKAGES: AptSet = {
  installed: [{ name: NAME, version: '1.0-1' }],
  // It keeps the host's security archive from being empty.
  offered: [{ name: 'other', version: '1.0-1', archive: 'security' }],
};
/** In the order of their rings. */
const GROUPS = ['canary', 'early', 'rest'];

describe.skipIf(missing !== null).each(ENGINES)('kill -9 of the server on $name', (engine) => {
  test(`at ${WAVES * KILLS} moments of rollouts: each goes on and ends, no host installs twice, and no ring is entered early`, {
    timeout: 60_000 + WAVES * WAVE_MAX_MS,
  }, async () => {
    const { server, operator, enrolled } = await createWorld(engine, OFTEN);
    await liftLimits(operator);
    const hosts: Host[] = [];
    for (const group of GROUPS) {
      const host = await enrolled({ packages: [PACKAGES] });
      await operator.moveTo(host.agentId(), group);
      hosts.push(host);
    }
    await publishRings(operator, [ringOf('canary'), ringOf('early'), REST]);
    for (let wave = 1; wave <= WAVES; wave++) {
      const version = `1.${wave}-1`;
      for (const host of hosts) await host.apt.publish(tracing({ name: NAME, version }));
      const killed = killOften(server);
      await liveThrough({ operator, hosts, version });
      await killed;
      // A report that the end of the server cut off is sent again.
      for (const host of hosts) must(await host.runOnce());
      await expectFinished(operator, wave);
      const installs = await operator.commands({ action: 'install_update' });
      expect(installs.map(({ status }) => status)).toEqual(Array(wave * hosts.length).fill('success'));
    }
    expect(await operator.events({ type: 'rollout_started' })).toHaveLength(WAVES);
    expect(await operator.events({ type: 'rollout_ring_entered' })).toHaveLength(WAVES * (GROUPS.length - 1));
  });
});

async function killOften(server: ServerProcess): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(randomInt(UP_MAX_MS));
    await server.kill();
    await server.restart();
  }
}

/** Hosts go on checking in until all have the version; a round during which the server ends fails, and that is all. */
async function liveThrough(wave: { operator: Operator; hosts: readonly Host[]; version: string }) {
  const { hosts, version } = wave;
  const untilMs = performance.now() + WAVE_MAX_MS;
  for (;;) {
    const rounds = await Promise.all(hosts.map((host) => finish(host.startOnce())));
    for (const { code, log } of rounds) expect([0, 1], log.join('\n')).toContain(code);
    const times = await Promise.all(hosts.map((host) => installationsOf(host, version)));
    expect(Math.max(...times), version).toBeLessThanOrEqual(1);
    // No host is before one of the ring before it.
    expect(times, version).toEqual(times.toSorted((a, b) => b - a));
    if (times.every((count) => count === 1)) return;
    if (performance.now() > untilMs) throw new Error(`${version} has reached ${times.join(', ')}`);
  }
}

async function installationsOf(host: Host, version: string): Promise<number> {
  const prefix = `${NAME} ${version} `;
  return (await host.trace(TRACE)).filter((line) => line.startsWith(prefix)).length;
}

async function expectFinished(operator: Operator, wave: number): Promise<void> {
  await expect
    .poll(() => newestRollout(operator), { interval: 500 })
    .toMatchObject({
      ...{ state: 'finished', outcomes: { installed: GROUPS.length } },
      package_list: [{ version: `1.${wave}-1` }],
    });
}
