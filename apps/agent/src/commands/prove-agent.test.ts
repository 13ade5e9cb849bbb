import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { completeJob, JOB_FILES, makeJob } from '../jobs/job-folder.ts';
import { AGENT_VERSION } from '../platform/version.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { bytesOf, upgradeOf } from '../testing/fleet.ts';
import { proveAgent } from './prove-agent.ts';
import type { Runtime } from './runtime.ts';

const COMMAND = '0b9d0a4c-5f35-4ab5-9a6c-6b2f0a1c00aa';
const ACTION = upgradeOf({ name: 'archive', bytes: bytesOf('archive') });

let agent: TestAgent;
let spool: ReturnType<typeof tmpDir>;
beforeEach(async () => {
  agent = await createAgent();
  spool = tmpDir();
});
afterEach(async () => {
  await agent.stop();
  spool.remove();
});

/** Lets an agent look so often whether it has something to prove. */
async function prove(ecosystem: 'tidegate' | 'apt', looks: number, members: Partial<Runtime> = {}) {
  const { envelope } = agent.fleet.approval({ ecosystem, actions: [ACTION] });
  const { folder } = makeJob(spool.path, COMMAND);
  const keySet = agent.fleet.keySet({ version: 1, keys: [agent.fleet.key.entry] });
  completeJob(folder, { command: bytesOf({}), approval: envelope, keySet, state: null });
  const executor = { how: 'systemd', spool: spool.path, state: spool.path } as const;
  const runtime = agent.start({ executor, ...members });
  let left = looks;
  const pause = async () => left-- > 0;
  await proveAgent(runtime, { commandId: COMMAND, pause, isOver: new AbortController().signal });
  const read = (name: string) =>
    existsSync(join(folder, name)) ? JSON.parse(readFileSync(join(folder, name), 'utf8')) : null;
  return { proof: read(JOB_FILES.proof), state: read(JOB_FILES.state) };
}

test('an agent that has checked in leaves its version, its faults and a signed state', async () => {
  const selfCheck = async () => ['folders'];
  const { proof, state } = await prove('tidegate', 1, { checkIns: { made: 1 }, selfCheck });
  expect(proof).toEqual({ version: AGENT_VERSION, failing: ['folders'] });
  expect(state).toMatchObject({ payloadType: expect.stringContaining('state') });
});

test('an agent that has not checked in proves nothing', async () => {
  expect(await prove('tidegate', 3)).toEqual({ proof: null, state: null });
});

test('other packages need no proof', async () => {
  expect(await prove('apt', 3, { checkIns: { made: 1 } })).toEqual({ proof: null, state: null });
});
