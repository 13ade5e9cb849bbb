import type { TrustedKeySet } from '../identity/config-file.ts';
import { JOB_FILES } from '../jobs/job-folder.ts';
import type { Journal } from '../journal/journal.ts';
import {
  judgeByState,
  type Permission,
  STATE_REFUSAL_TEXT,
  type StateRefusal,
  verifyAgentState,
} from '../trust/agent-state.ts';
import { readJobJson } from './read-job.ts';

const STATE_MAX_BYTES = 256 * 1024;
/** Refusals that no later state of the same command can take back. */
const FINAL: readonly StateRefusal[] = ['taken_back', 'approval_too_old'];

/** What the newest signed state in the job says of its command. */
export type StateNews = { kind: 'fresh' } | { kind: 'waiting' | 'over'; check: StateRefusal; detail: string };

export interface StateWatchOptions {
  /** The job folder, by its descriptor: the agent replaces the state in it while the job waits. */
  folder: string;
  journal: Pick<Journal, 'noteState'>;
  permission: Permission;
  trusted: TrustedKeySet;
  agentId: string;
  epoch: number;
  maxAgeMinutes: number;
  nowMs: () => number;
  /** The signed time of the state with which the command was judged. */
  firstMs: number;
}

/**
 * Follows the signed states that the agent brings while a command waits. `fresh` needs one that was signed so long after
 * the first, by the server's clock alone.
 */
export function watchState(options: StateWatchOptions): (laterMs: number) => StateNews {
  const { folder, journal, permission, trusted, agentId, epoch, maxAgeMinutes, nowMs, firstMs } = options;
  let newestMs = firstMs;

  return (laterMs) => {
    const verified = verifyAgentState(readJobJson(folder, JOB_FILES.state, STATE_MAX_BYTES), {
      ...{ trusted, agentId, nowMs: nowMs() },
    });
    if (!verified.ok) return newsOf('waiting', verified.reason);
    const { state } = verified;
    const check = judgeByState(state, {
      ...{ permission, epoch, keySetVersion: trusted.version, maxAgeMinutes, nowMs: nowMs() },
      newestShown: new Date(newestMs).toISOString(),
    });
    if (check !== null) return newsOf(FINAL.includes(check) ? 'over' : 'waiting', check);
    const signedMs = Date.parse(state.server_time);
    if (signedMs > newestMs) {
      newestMs = signedMs;
      journal.noteState(state); // best effort: it only guards later jobs against older states
    }
    return signedMs >= firstMs + laterMs ? { kind: 'fresh' } : newsOf('waiting', 'too_old');
  };
}

function newsOf(kind: 'waiting' | 'over', check: StateRefusal): StateNews {
  return { kind, check, detail: STATE_REFUSAL_TEXT[check] };
}
