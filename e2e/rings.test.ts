import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyPreview } from '@tidegate/protocol/policies-api';
import { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { REST, ringOf } from '../apps/server/src/testing/rollout-rings.ts';
import { finish, must } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import {
  affected,
  BROKEN,
  blockedBy,
  createRingScene,
  hashesOf,
  holdSetUp,
  letGo,
  offer,
  type RingScene,
  release,
  TRACE,
} from './harness/ring-scene.ts';
import { changeRings, newestRollout, publishRings, TURN, untilRollout } from './harness/rollouts.ts';
import { storyMissing } from './harness/world.ts';

const missing = storyMissing();
const MINUTE_MS = 60_000;
const BOTH = { min_success_count: 2, min_success_rate_percent: 100, soak_minutes: 0 };
const RINGS = [
  ringOf('canary', { gate: { ...BOTH, probes: 'none', approval: false }, deadline_minutes: 5 }),
  ringOf('early'),
  REST,
];
const isLong = process.env.TIDEGATE_LONG === '1';

describe.skipIf(missing !== null).each(isLong ? ENGINES : ENGINES.slice(0, 1))('rings on $name', (engine) => {
  test('let hosts install what the ring before has proved, and stand still when a person or a red probe says so', async () => {
    const scene = await createRingScene(engine);
    const policy = await publishRings(scene.operator, RINGS);
    await haltByHand(scene);
    await ringByRing(scene, policy.id);
    await badVersion(scene);
    await goBack(scene);
  });

  if (isLong) {
    test('stand still when a host is silent or a window ends, and give nothing to the next that is malicious by then', async () => {
      const scene = await createRingScene(engine);
      const policy = await publishRings(scene.operator, RINGS, { windows: [openWindow()] });
      await silentHost(scene);
      scene.osv.addRecord({ id: 'MAL-2026-1', summary: 'steals keys' }, affected('1.1-1'));
      await windowEnds(scene);
      await changeRings(scene.operator, policy, { windows: [] });
      await expect
        .poll(() => blockedBy(scene.operator, scene.early), TURN)
        .toBe('vulnerability: known_vulnerability');
      must(await scene.early.runOnce());
      expect(await scene.installed()).toEqual(['1.1-1', '1.1-1', '1.0-1', '1.0-1']);
    });
  }
});

/** Halted while the first host installs: that one ends, and what the second has not taken is withdrawn. */
async function haltByHand(scene: RingScene): Promise<void> {
  const { canary, second, operator } = scene;
  await scene.untilStates('1.1-1', 'approved', 'approved', 'pending', 'pending');
  holdSetUp(canary);
  const installing = canary.startOnce();
  await expect.poll(() => canary.trace(TRACE), TURN).toContain('1.1-1');
  expect(await scene.act('halt', 'The shop is down.')).toMatchObject({ body: { state: 'halted' } });
  await scene.untilStates('1.1-1', 'installing', 'pending', 'pending', 'pending');
  must(await second.runOnce());
  letGo(canary);
  must(await finish(installing));
  expect(await scene.installed()).toEqual(['1.1-1', '1.0-1', '1.0-1', '1.0-1']);
  await untilRollout(operator, { state: 'halted', outcomes: { installed: 1, waiting: 3 } });
}

/** Resumed, it goes on to the next ring; a version that appeared meanwhile is not part of it, and begins with the first ring. */
async function ringByRing(scene: RingScene, policyId: string): Promise<void> {
  const { second, early, rest, operator, approvals } = scene;
  await offer([rest], release('1.2-1'));
  expect((await scene.act('resume', 'It was the network.')).status).toBe(200);
  await scene.untilStates('1.1-1', 'installed', 'approved', 'pending', 'superseded');
  must(await second.runOnce());
  await scene.untilStates('1.1-1', 'installed', 'installed', 'approved', 'superseded');
  must(await early.runOnce());
  await untilRollout(operator, { state: 'running', ring: 0, package_list: [{ version: '1.2-1' }] });
  expect(await reasonsOf(operator, policyId)).toEqual(['ring_not_entered']);
  must(await rest.runOnce());
  expect(await scene.installed()).toEqual(['1.1-1', '1.1-1', '1.1-1', '1.0-1']);
  const hashes = hashesOf(approvals, '1.1-1');
  expect([hashes.length, new Set(hashes).size]).toEqual([3, 1]);
  expect((await scene.act('cancel', '1.3 is near.')).status).toBe(200);
}

/** The first host's probe turns red after it: nobody else gets it. */
async function badVersion(scene: RingScene): Promise<void> {
  const { canary, second, early, operator } = scene;
  await offer([canary, second, early], release('1.3-1', `touch "$DPKG_ROOT/${BROKEN}"`));
  await scene.untilStates('1.3-1', 'approved', 'approved', 'pending', null);
  must(await canary.runOnce());
  must(await canary.runOnce()); // its probes run again after an installation
  await untilRollout(operator, { state: 'halted', halt: { by: 'server' }, outcomes: { probe_failed: 1 } });
  await scene.untilStates('1.3-1', 'installed', 'pending', 'pending', null);
  const [event] = await operator.events({ type: 'rollout_halted' });
  const hosts = [{ agent_id: canary.agentId(), outcome: 'probe_failed' }];
  expect(event).toMatchObject({ severity: 'critical', content: { hosts } });
  for (const host of [second, early]) must(await host.runOnce());
  expect(await scene.installed()).toEqual(['1.3-1', '1.1-1', '1.1-1', '1.0-1']);
}

/** The first host gets back what it had, although its probe is red. */
async function goBack(scene: RingScene): Promise<void> {
  const { canary, operator } = scene;
  const updates = await operator.updates({ name: 'app', agent_id: canary.agentId(), state: 'installed' });
  const update = updates.find(({ available_version }) => available_version === '1.3-1');
  const body = { update_ids: [update?.id], reason: '1.3 does not start' };
  const answer = await operator.call('POST', '/api/v1/updates/rollback', body);
  const [requested] = expectAnswer(answer, 200, RollbackAnswer).requested;
  must(await canary.runOnce());
  const state = async () => (await operator.update(requested?.update_id ?? '')).state;
  await expect.poll(state, TURN).toBe('approved');
  expect(existsSync(join(canary.apt.root, BROKEN))).toBe(true);
  must(await canary.runOnce());
  expect(await scene.installed()).toEqual(['1.1-1', '1.1-1', '1.1-1', '1.0-1']);
  expect(existsSync(join(canary.apt.root, BROKEN))).toBe(false);
  expect((await scene.act('cancel', '1.3 does not start.')).status).toBe(200);
}

/** The second host takes its update and is not heard of until its deadline; later it is. */
async function silentHost(scene: RingScene): Promise<void> {
  const { canary, second } = scene;
  await scene.untilStates('1.1-1', 'approved', 'approved', 'pending', 'pending');
  must(await canary.runOnce());
  holdSetUp(second);
  const lost = second.startOnce();
  await expect.poll(() => second.trace(TRACE), TURN).toContain('1.1-1');
  lost.signal('SIGKILL');
  await untilRollout(scene.operator, { state: 'running', outcomes: { installed: 1, running: 1 } });
  const before = scene.operator;
  await scene.ahead(11 * MINUTE_MS);
  await untilRollout(scene.operator, { state: 'halted', outcomes: { installed: 1, silent: 1 } });
  expect(await scene.states('1.1-1')).toEqual(['installed', 'installing', 'pending', 'pending']);
  letGo(second);
  await lost.ended;
  must(await second.runOnce());
  await untilRollout(scene.operator, { state: 'halted', outcomes: { installed: 2, silent: 0 } });
  await expectStale(scene, before);
}

/** Whoever confirmed their factor too long ago has to do it again before a rollout goes on. */
async function expectStale({ server, operator }: RingScene, { token }: Operator): Promise<void> {
  const { id } = await newestRollout(operator);
  const answer = await fetch(`${server.url}/api/v1/rollouts/${id}/resume`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'The switch was off.' }),
  });
  expect(await answer.json()).toMatchObject({ code: 'step_up_required' });
  expect(await newestRollout(operator)).toMatchObject({ state: 'halted' });
}

/** Resumed with a fresh factor, the next ring is approved; the window ends before it has taken anything. */
async function windowEnds(scene: RingScene): Promise<void> {
  const { early } = scene;
  expect((await scene.act('resume', 'The switch was off.')).status).toBe(200);
  await scene.untilStates('1.1-1', 'installed', 'installed', 'approved', 'pending');
  await scene.ahead(5 * 60 * MINUTE_MS);
  must(await early.runOnce());
  await scene.untilStates('1.1-1', 'installed', 'installed', 'pending', 'pending');
  const waits_for = 'Its policy has no window any more: give it one, or cancel the rollout.';
  await untilRollout(scene.operator, { state: 'running', ring: 1, waits_for });
  must(await early.runOnce());
  expect(await scene.installed()).toEqual(['1.1-1', '1.1-1', '1.0-1', '1.0-1']);
}

/** Why a policy leaves updates alone. */
async function reasonsOf(operator: Operator, policyId: string): Promise<string[]> {
  const answer = await operator.call('GET', `/api/v1/policies/${policyId}/preview`);
  return expectAnswer(answer, 200, PolicyPreview).reasons.map(({ reason }) => reason);
}

/** From the hour before this moment to three hours after that. */
function openWindow() {
  const [starts_on = '', time = ''] = new Date(Date.now() - 60 * MINUTE_MS).toISOString().split('T');
  return { rrule: null, starts_on, start: `${time.slice(0, 2)}:00`, zone: 'UTC', duration_minutes: 240 };
}
