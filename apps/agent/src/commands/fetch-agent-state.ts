import { Envelope } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import { loadHostPolicy, stateMaxAgeMinutes } from '../host-policy/policy.ts';
import type { Journal } from '../journal/journal.ts';
import { type Outcome, retryable } from '../platform/failures.ts';
import { callAgent } from '../session/call-agent.ts';
import { refreshKeys } from '../session/refresh-keys.ts';
import { judgeByState, type Permission, type StateRefusal, verifyAgentState } from '../trust/agent-state.ts';
import { stateOfExecutor } from './executor-key-chain.ts';
import type { Runtime } from './runtime.ts';

type Parts = Pick<Runtime, 'client' | 'config' | 'log' | 'nowMs' | 'policy' | 'session'> & {
  journal: Pick<Journal, 'highest'>;
};

export interface StateRequest {
  permission: Permission;
  /** Of the command. */
  epoch: number;
  /** The executor's state folder, which records the newest signed state it has seen. */
  executorState: string;
  /** Until when a replica may lag behind another. */
  lagUntilMs: number;
}

/** Refusals that a replica with a late clock or an old key set can cause. */
const LAGGING: readonly StateRefusal[] = ['rolled_back', 'older_than_approval', 'stale_keys', 'newer_keys'];

export interface FetchedState {
  envelope: Envelope;
  /** Why the executor would refuse; null when the approval is still valid. */
  refusal: StateRefusal | null;
}

/**
 * Fetches the signed state that says whether an approval is still valid, and the newer key sets it names.
 * Retryable: no contact and, for some minutes, a replica that is behind.
 */
export async function fetchAgentState(parts: Parts, request: StateRequest): Promise<Outcome<FetchedState>> {
  const answer = await callAgent(parts, { method: 'GET', path: '/state' });
  if (!answer.ok) return answer;
  const { body } = answer.value;
  if (!Check(Envelope, body)) return retryable('the state is not an envelope');
  let refusal = judge(parts, request, body);
  if (refusal === 'newer_keys' || refusal === 'bad_signature') {
    const refreshed = await refreshKeys(parts);
    if (!refreshed.ok) return refreshed;
    refusal = judge(parts, request, body);
  }
  if (refusal !== null && LAGGING.includes(refusal) && parts.nowMs() < request.lagUntilMs) {
    return retryable(`the server is behind another one of the fleet (${refusal})`);
  }
  return { ok: true, value: { envelope: body, refusal } };
}

function judge(
  parts: Parts,
  { permission, epoch, executorState }: StateRequest,
  body: unknown,
): StateRefusal | null {
  const { config, journal, policy, nowMs } = parts;
  const { trusted_keys: trusted, agent_id: agentId } = config.current();
  const verified = verifyAgentState(body, { trusted, agentId, nowMs: nowMs() });
  if (!verified.ok) return verified.reason;
  return judgeByState(verified.state, {
    permission,
    epoch: Math.max(epoch, journal.highest().epoch),
    keySetVersion: trusted.version,
    newestShown: stateOfExecutor(executorState)?.newest_state ?? null,
    maxAgeMinutes: stateMaxAgeMinutes(loadHostPolicy(policy)),
    nowMs: nowMs(),
  });
}
