import { randomUUID } from 'node:crypto';
import { CommandResult } from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { timestamp } from '../platform/clock.ts';
import { runOnce } from '../polling/loop.ts';
import { ARTIFACT, createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import { html, problem, type Reply } from '../testing/scripted-server.ts';

const DOWNLOAD_MS = 60_000;
const RUNNING = { status: 'running', started_at: timestamp(NOW_MS) };
const INSTALLING = { status: 'running', installing_at: timestamp(NOW_MS + DOWNLOAD_MS) };

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
  agent.executorSays = (command_id) => ({
    ...{ command_id, failure: null, check: null },
    result: { status: 'success', finished_at: timestamp(agent.localMs) },
  });
});
afterEach(() => agent.stop());

/** Has the server deliver an installation; answers its id. */
function deliverInstall(): string {
  const [id, updateId] = [randomUUID(), randomUUID()];
  const { envelope, reference } = agent.fleet.approval({
    updates: [updateOf(updateId)],
    actions: [upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT })],
  });
  agent.server.approvals.set(reference.token_id, envelope);
  const members = { action: 'install_update', params: { update_ids: [updateId] }, approval: reference };
  agent.server.commands.push({ id, envelope: agent.fleet.command({ seq: 1, command_id: id, ...members }) });
  return id;
}

const reported = (id: string) =>
  agent.server.received(`commands/${id}/result`).map((body) => {
    if (!Check(CommandResult, body)) throw new Error(`not a result: ${JSON.stringify(body)}`);
    return body;
  });

/** A driver whose download takes its time; `during` is called in the middle of it. */
function slowDriver(during: () => void = () => {}) {
  const { driver } = agent;
  const fetch: typeof driver.fetch = async (...args) => {
    during();
    agent.localMs += DOWNLOAD_MS;
    return driver.fetch(...args);
  };
  return { ...driver, fetch };
}

test('the server hears that the installation begins once everything is downloaded, and not before', async () => {
  const id = deliverInstall();
  const seen: unknown[] = [];
  const runtime = agent.start({ drivers: [slowDriver(() => seen.push(...reported(id)))] });
  expect(await runOnce(runtime)).toBeNull();
  expect(seen).toEqual([RUNNING]);
  expect(reported(id)).toMatchObject([RUNNING, INSTALLING, { status: 'success' }]);
  expect(reported(id).at(-1)).not.toHaveProperty('installing_at'); // an older server would refuse the result
});

test('the job does not wait for the answer of the server', async () => {
  const id = deliverInstall();
  let answer = (_: Reply) => {};
  const held = new Promise<Reply>((resolve) => {
    answer = resolve;
  });
  const inner = agent.start({ drivers: [slowDriver()] });
  const { session } = inner;
  const runExecutor = vi.fn(inner.runExecutor);
  const call: typeof session.call = async (request) => {
    if (String(JSON.stringify(request.body)).includes('installing_at')) await held;
    return session.call(request);
  };
  expect(await runOnce({ ...inner, session: { call }, runExecutor })).toBeNull();
  expect(runExecutor).toHaveBeenCalledTimes(1);
  expect(reported(id).map(({ status }) => status)).toEqual(['running', 'success']);
  answer(problem('command_finished'));
  await expect.poll(() => reported(id).length).toBe(3); // too late: the server has the end
  expect(agent.server.received('events')).toEqual([]);
});

test.each<[string, Reply | 'hang up']>([
  ['400 of a server that does not know it', problem('invalid_request')],
  ['404', problem('not_found')],
  ['409', problem('command_finished')],
  ['426', problem('agent_too_old')],
  ['429', problem('rate_limited', { 'retry-after': '3600' })],
  ['503', problem('unavailable')],
  ["a proxy's page", html(502)],
  ['no network', 'hang up'],
])(
  'if the answer is %s, the command ends as well, and the report of its start is not lost',
  async (_, reply) => {
    const id = deliverInstall();
    agent.server.override = (path) =>
      path === `commands/${id}/result` && reported(id).at(-1)?.installing_at !== undefined ? reply : null;
    expect(await runOnce(agent.start({ drivers: [slowDriver()] }))).toBeNull();
    expect(reported(id)).toMatchObject([RUNNING, INSTALLING, { status: 'success' }]);
    expect(agent.server.received('events')).toEqual([]);
  },
);

test('after a download that failed nothing is said of an installation', async () => {
  agent.driver.brings = new TextEncoder().encode('"demo 6.6"');
  const id = deliverInstall();
  await runOnce(agent.start());
  expect(reported(id)).toMatchObject([RUNNING, { status: 'failed' }]);
});
