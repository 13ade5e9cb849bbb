import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ProbeReport, type ProbeState } from '@tidegate/protocol/probes';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendProbes } from '../inventory/send-probes.ts';
import { ownUid } from '../platform/file-layer.ts';
import { runLoop, runOnce } from '../polling/loop.ts';
import { writeLook } from '../probes/look-file.ts';
import { watchProbes } from '../probes/probe-watch.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { checksIn } from '../testing/checks-world.ts';
import { problem } from '../testing/scripted-server.ts';
import type { Runtime } from './runtime.ts';

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

/** Polls until so many waits have gone by, in which what goes on meanwhile goes on. */
async function poll(runtime: Runtime, { waits }: { waits: number }) {
  const stop = new AbortController();
  let left = waits;
  const sleep = async (_: number, woken: AbortSignal) => {
    await settle(woken);
    left -= 1;
    if (left === 0) stop.abort();
  };
  expect(await runLoop(runtime, { signal: stop.signal, sleep })).toBeNull();
}

/** Until the probes were reported, or the wait is over. */
async function settle(woken: AbortSignal) {
  for (let turn = 0; turn < 1_000 && !woken.aborted && reported().length === 0; turn += 1) {
    await new Promise(setImmediate);
  }
}

test('what the probes said at the start is reported without asking the server once more', async () => {
  agent.driver.scanned = { complete: true, reason: null, packages: [], updates: [] };
  await runOnce(agent.start()); // the inventory is known from now on
  const before = agent.server.received('check-in').length;
  // Each check-in is followed by two waits.
  await poll(start(), { waits: 2 });
  expect(reported().map(statesOf)).toEqual([['green']]);
  expect(agent.server.received('check-in')).toHaveLength(before + 1);
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
