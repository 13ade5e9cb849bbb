import { join } from 'node:path';
import { Envelope } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import { isMarkedReady, JOB_FILES } from '../jobs/job-folder.ts';
import type { Pause } from '../platform/back-off.ts';
import { errorCode, writeDurably } from '../platform/file-layer.ts';
import { callAgent } from '../session/call-agent.ts';
import type { Runtime } from './runtime.ts';

/** How often the executor of a waiting command gets a fresh state: a cancelled reboot is called off within this time. */
export const FRESH_EVERY_MS = 20_000;

/**
 * Brings the executor the signed state of the moment while its job waits, so that it learns that the command was
 * cancelled. Best effort: without a fresh one the executor does nothing.
 */
export async function keepStateFresh(
  parts: Pick<Runtime, 'config' | 'session' | 'log'>,
  job: { folder: string; pause: Pause; isOver: AbortSignal },
): Promise<void> {
  const { folder, pause, isOver } = job;
  while ((await pause(FRESH_EVERY_MS, isOver)) && isMarkedReady(folder)) {
    const answer = await callAgent(parts, { method: 'GET', path: '/state' });
    if (!answer.ok || !Check(Envelope, answer.value.body)) continue;
    const bytes = new TextEncoder().encode(JSON.stringify(answer.value.body));
    try {
      writeDurably(join(folder, JOB_FILES.state), bytes, { mode: 0o644 });
    } catch (error) {
      // The job may have ended, and its folder be gone.
      parts.log.warn('a fresh state cannot be left for the executor', { reason: errorCode(error) });
    }
  }
}
