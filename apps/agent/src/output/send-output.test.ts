import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandOutput } from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { outputPath } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { runOnce } from '../polling/loop.ts';
import { ARTIFACT, createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import { html, problem, type Reply } from '../testing/scripted-server.ts';
import { OUTPUTS_NAME } from './output-cursors.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

/** Has the server deliver an installation that says something and ends well; answers its id. */
function deliverInstall(said: string): string {
  const [id, updateId] = [randomUUID(), randomUUID()];
  const { envelope, reference } = agent.fleet.approval({
    updates: [updateOf(updateId)],
    actions: [upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT })],
  });
  agent.server.approvals.set(reference.token_id, envelope);
  const members = { action: 'install_update', params: { update_ids: [updateId] }, approval: reference };
  agent.server.commands.push({ id, envelope: agent.fleet.command({ seq: 1, command_id: id, ...members }) });
  agent.executorSays = (commandId) => {
    const path = outputPath(join(agent.folder, 'state'), commandId);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, said, { mode: 0o640 });
    const times = { started_at: timestamp(NOW_MS), finished_at: timestamp(NOW_MS) };
    const result = { status: 'success' as const, exit_code: 0, output_tail: said, ...times };
    return { command_id: commandId, failure: null, check: null, result };
  };
  return id;
}

const outputs = (id: string) =>
  agent.server.received(`commands/${id}/output`).map((body) => {
    if (!Check(CommandOutput, body)) throw new Error(`not a piece: ${JSON.stringify(body)}`);
    return body;
  });
const reported = (id: string) => agent.server.received(`commands/${id}/result`);

test('the output of an installation is sent in addition to its result', async () => {
  const id = deliverInstall('Setting up demo (2.0)\n');
  expect(await runOnce(agent.start())).toBeNull();
  expect(outputs(id)).toEqual([{ seq: 0, stream: 'stdout', data: 'Setting up demo (2.0)\n' }]);
  expect(readFileSync(join(agent.folder, OUTPUTS_NAME), 'utf8')).toBe('{"v":1,"outputs":[]}'); // and is done
  expect(reported(id)).toMatchObject([{ status: 'running' }, { status: 'running' }, { status: 'success' }]);
});

test('a piece whose answer was lost is resent unchanged', async () => {
  const id = deliverInstall('Setting up demo (2.0)\n');
  let lost = 0;
  agent.server.override = (path) => (path.endsWith('/output') && lost++ === 0 ? 'hang up' : null);
  agent.sleep = async () => {};
  expect(await runOnce(agent.start())).toBeNull();
  const [first, second, ...rest] = outputs(id);
  expect(second).toEqual(first);
  expect(rest).toEqual([]);
});

test.each<[string, Reply | 'hang up']>([
  ['429', problem('rate_limited', { 'retry-after': '3600' })],
  ['403', problem('unauthorized')],
  ['404', problem('not_found')],
  ['409', problem('binding_pending')],
  ["a proxy's page", html(502)],
  ['nothing', 'hang up'],
])(
  'where the server answers outputs with %s, the job is reported all the same and does not wait',
  async (_, reply) => {
    const id = deliverInstall('said\n');
    agent.server.override = (path) => (path.endsWith('/output') ? reply : null);
    agent.sleep = async (ms, signal) => {
      if (ms !== 5_000) await once(signal, 'abort');
    };
    expect(await runOnce(agent.start())).toBeNull();
    expect(reported(id)).toMatchObject([{ status: 'running' }, { status: 'running' }, { status: 'success' }]);
    expect(agent.server.received('events')).toEqual([]);
  },
);
