import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { AgentEvent } from '@tidegate/protocol/agent-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runOnce } from '../polling/loop.ts';
import { ARTIFACT, createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { updateOf, upgradeOf } from '../testing/fleet.ts';

const Events = Type.Array(Type.Object({ events: Type.Array(AgentEvent) }));

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

function deliverInstall(): string {
  const [updateId, id] = [randomUUID(), randomUUID()];
  const actions = [upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT })];
  const { envelope, reference } = agent.fleet.approval({ updates: [updateOf(updateId)], actions });
  agent.server.approvals.set(reference.token_id, envelope);
  const params = { update_ids: [updateId] };
  const members = { command_id: id, action: 'install_update', params, approval: reference };
  agent.server.commands.push({ id, envelope: agent.fleet.command(members) });
  return id;
}

const restrict = (policy: object) => writeFileSync(agent.start().policy.path, JSON.stringify(policy));
const events = () => Value.Parse(Events, agent.server.received('events')).flatMap((body) => body.events);

test.each([
  ['never_touch', { v: 1, never_touch: { apt: ['demo'] } }],
  ['outside_hours', { v: 1, hours: [{ days: ['sun'], from: '02:00', to: '04:00' }] }],
  ['policy_unusable', { v: 1, never_tuch: { apt: ['demo'] } }],
])('what the host refuses (%s) is neither fetched nor handed to the executor', async (check, policy) => {
  restrict(policy);
  agent.driver.fetch = async () => {
    throw new Error('nothing must be fetched');
  };
  agent.executorSays = () => {
    throw new Error('the executor must not be started');
  };
  const id = deliverInstall();
  await runOnce(agent.start());
  expect(agent.server.received(`commands/${id}/result`).at(-1)).toMatchObject({
    status: 'refused',
    reason: expect.stringMatching(new RegExp(`^host_policy \\(${check}\\): `)),
  });
  expect(events()).toMatchObject([{ type: 'COMMAND_REFUSED', details: { check } }]);
});

test('outside the hours an installation is not begun, and the server is told when to deliver it again', async () => {
  restrict({ v: 1, hours: [{ days: ['sun'], from: '02:00', to: '04:00' }] });
  const id = deliverInstall();
  agent.server.approvals.clear(); // it is not even asked for
  await runOnce(agent.start());
  expect(agent.server.received(`commands/${id}/result`)).toMatchObject([
    { status: 'refused', retry_at: '2026-11-22T02:00:00Z' },
  ]);
});

test('what the executor refuses by the policy is a COMMAND_REFUSED too', async () => {
  agent.executorSays = (command_id) => ({
    command_id,
    failure: 'host_policy',
    check: 'never_touch',
    result: { status: 'refused', reason: 'host_policy (never_touch): no' },
  });
  const id = deliverInstall();
  await runOnce(agent.start());
  expect(agent.server.received(`commands/${id}/result`).at(-1)).toMatchObject({ status: 'refused' });
  expect(events()).toMatchObject([{ type: 'COMMAND_REFUSED', details: { check: 'never_touch' } }]);
});

test('a policy that allows the update changes nothing', async () => {
  restrict({ v: 1, ecosystems: ['apt'] });
  agent.executorSays = (command_id) => ({
    command_id,
    failure: null,
    check: null,
    result: { status: 'success' },
  });
  const id = deliverInstall();
  await runOnce(agent.start());
  expect(agent.server.received(`commands/${id}/result`).at(-1)).toMatchObject({ status: 'success' });
});
