import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentEvents, CommandResult } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JOB_FILES } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';

const PACKAGE = { name: 'loud', arch: 'all', version: '1.1-1', state: 'half-configured', scripts: {} };

let agent: TestAgent;
let started: string[];
beforeEach(async () => {
  agent = await createAgent();
  started = [];
  agent.executorSays = (command_id) => {
    started.push(command_id);
    return { command_id, failure: null, check: null, result: { status: 'success', output_tail: 'done' } };
  };
});
afterEach(() => agent.stop());

/** Carries out a repair, and returns its id. */
async function repair(members: Parameters<TestAgent['start']>[0] = {}): Promise<string> {
  const id = randomUUID();
  const command = { command_id: id, action: 'repair', params: { packages: [PACKAGE] } };
  agent.server.commands.push({ id, envelope: agent.fleet.command(command) });
  await runOnce(agent.start(members));
  return id;
}

/** What the server was told at the end of a command. */
const endOf = (id: string) =>
  agent.server
    .received(`commands/${id}/result`)
    .map((body) => Value.Parse(CommandResult, body))
    .filter(({ status }) => status !== 'running');
const told = () =>
  agent.server
    .received('events')
    .flatMap((body) => Value.Parse(AgentEvents, body).events)
    .map(({ type, details }) => [type, details?.check]);

test('a repair is handed over without an approval, its result reported, and the host scanned again', async () => {
  const { executor } = agent;
  if (executor.how === 'none') throw new Error('this agent has an executor');
  const left: string[] = [];
  const says = agent.executorSays;
  agent.executorSays = (commandId) => {
    left.push(...readdirSync(join(executor.spool, commandId)));
    return says(commandId);
  };
  const id = await repair();
  const { command, keySet, state } = JOB_FILES;
  expect(left.toSorted()).toEqual(['artifacts', command, keySet, 'ready', state].toSorted());
  expect(endOf(id)).toMatchObject([{ status: 'success', output_tail: 'done' }]);
  expect(agent.driver.scans).toBeGreaterThan(1);
  expect(existsSync(join(executor.spool, id))).toBe(false);
  expect(told()).toEqual([]);
});

test.each<[string, object]>([
  ['never_touch', { never_touch: { apt: ['lou*'] } }],
  ['outside_hours', { hours: [{ days: ['sun'], from: '02:00', to: '02:01' }] }],
])('a repair that the host forbids is not handed over: %s', async (check, policy) => {
  writeFileSync(join(agent.folder, 'policy.json'), JSON.stringify({ v: 1, ...policy }), { mode: 0o644 });
  const id = await repair();
  expect(endOf(id)).toMatchObject([
    { status: 'refused', reason: expect.stringContaining(`host_policy (${check})`) },
  ]);
  expect(told()).toEqual([['COMMAND_REFUSED', check]]);
  expect(started).toEqual([]);
});

test('a repair that was cancelled after it was delivered is not handed over', async () => {
  const id = randomUUID();
  agent.server.agentState = agent.fleet.agentState({ revoked_tokens: [id], server_time: timestamp(NOW_MS) });
  const command = { command_id: id, action: 'repair', params: { packages: [PACKAGE] } };
  agent.server.commands.push({ id, envelope: agent.fleet.command(command) });
  await runOnce(agent.start());
  expect(told()).toEqual([['COMMAND_REFUSED', 'taken_back']]);
  expect(started).toEqual([]);
});

test('without an executor a repair is refused', async () => {
  agent.executor = { how: 'none', detail: 'not root' };
  const id = await repair();
  expect(endOf(id)).toMatchObject([{ status: 'refused', reason: 'no_executor: not root' }]);
});
