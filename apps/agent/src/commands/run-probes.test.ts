import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ProbeReport, type ProbeState } from '@tidegate/protocol/probes';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendProbes } from '../inventory/send-probes.ts';
import { ownUid } from '../platform/file-layer.ts';
import { runOnce } from '../polling/loop.ts';
import { writeLook } from '../probes/look-file.ts';
import { watchProbes } from '../probes/probe-watch.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { checksIn } from '../testing/checks-world.ts';
import { problem } from '../testing/scripted-server.ts';

let agent: TestAgent;
let state: ProbeState;
let looks: number;
beforeEach(async () => {
  agent = await createAgent();
  checksIn(agent.folder).probe('web', { kind: 'tcp', port: 80 });
  [state, looks] = ['green', 0];
});
afterEach(() => agent.stop());

const lookFile = () => join(agent.folder, 'look.json');
const reported = () => agent.server.received('probes').map((body) => Value.Parse(ProbeReport, body));
const statesOf = ({ probes }: ProbeReport) => probes.map((probe) => probe.state);

/** An agent that is root and runs the probes itself. */
function start() {
  const runtime = agent.start();
  const look = async () => {
    looks += 1;
    const at = new Date(agent.localMs).toISOString();
    writeLook(lookFile(), { v: 1, report: { at, probes: [{ name: 'web', state }] }, failed_units: null });
  };
  const policy = { path: join(agent.folder, 'policy.json'), ownerUid: ownUid(), top: agent.folder };
  const probes = watchProbes({
    ...{ policy, lookFile: lookFile(), writerUid: ownUid(), runs: { by: 'self', look } },
    ...{ nowMs: runtime.nowMs, localMs: () => agent.localMs, elapsedMs: runtime.elapsedMs },
  });
  return { ...runtime, probes };
}

test('a start reports the probes once', async () => {
  const runtime = start();
  expect(await runOnce(runtime)).toBeNull();
  expect(await runOnce(runtime)).toBeNull();
  expect(reported().map(statesOf)).toEqual([['green']]);
});

test('run_probes runs and reports them, and succeeds also when they are red', async () => {
  const runtime = start();
  await runOnce(runtime);
  state = 'red';
  const id = randomUUID();
  const command = { command_id: id, action: 'run_probes', params: {} };
  agent.server.commands.push({ id, envelope: agent.fleet.command(command) });
  expect(await runOnce(runtime)).toBeNull();
  expect(reported().map(statesOf)).toEqual([['green'], ['red']]);
  expect(agent.server.received(`commands/${id}/result`).at(-1)).toMatchObject({ status: 'success' });
});

test('a report that could not be sent is sent later; one that was refused is not repeated', async () => {
  const runtime = start();
  agent.server.override = (path) => (path === 'probes' ? { status: 503, body: '{}' } : null);
  await runtime.probes.look(async () => true);
  expect(await sendProbes(runtime)).toMatchObject({ kind: 'retryable' });
  agent.server.override = (path) => (path === 'probes' ? problem('invalid_request') : null);
  expect(await sendProbes(runtime)).toBeNull();
  expect(await sendProbes(runtime)).toBeNull();
  expect([reported().length, looks]).toEqual([2, 1]);
});
