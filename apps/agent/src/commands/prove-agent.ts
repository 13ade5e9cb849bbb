import { join } from 'node:path';
import { Envelope } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import { type AgentProof, isMarkedReady, JOB_FILES } from '../jobs/job-folder.ts';
import type { Pause } from '../platform/back-off.ts';
import { errorCode, writeDurably } from '../platform/file-layer.ts';
import { AGENT_VERSION } from '../platform/version.ts';
import { callAgent } from '../session/call-agent.ts';
import { readHandedOver } from './executor-job.ts';
import type { Runtime } from './runtime.ts';

const PROVE_EVERY_MS = 5_000;

/**
 * Shows the executor that the version which it watches works: once this process has checked in, it leaves a newer signed
 * state and what it finds wrong with itself in the folder of the job. Does nothing for jobs of other packages.
 */
export async function proveAgent(
  runtime: Runtime,
  { commandId, pause, isOver }: { commandId: string; pause: Pause; isOver: AbortSignal },
): Promise<void> {
  const { executor, checkIns, log } = runtime;
  if (executor.how === 'none') return;
  const folder = join(executor.spool, commandId);
  if (readHandedOver(folder)?.ecosystem !== 'tidegate') return;
  while ((await pause(PROVE_EVERY_MS, isOver)) && isMarkedReady(folder)) {
    if (checkIns.made === 0) continue;
    const answer = await callAgent(runtime, { method: 'GET', path: '/state' });
    if (!answer.ok || !Check(Envelope, answer.value.body)) continue;
    const proof: AgentProof = { version: AGENT_VERSION, failing: await runtime.selfCheck() };
    if (isOver.aborted) return;
    try {
      leave(join(folder, JOB_FILES.state), answer.value.body);
      leave(join(folder, JOB_FILES.proof), proof);
    } catch (error) {
      // The job may have ended, and its folder be gone.
      log.warn('the executor cannot be shown that this version works', { reason: errorCode(error) });
    }
  }
}

function leave(path: string, document: object): void {
  writeDurably(path, new TextEncoder().encode(JSON.stringify(document)), { mode: 0o644 });
}
