import { AGENT_STATE_TYPE, AgentStatePayload, type CommandPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { CLOCK_SKEW_MS } from '../platform/clock.ts';
import { type EnvelopeFault, openEnvelope } from './open-envelope.ts';
import type { VerifiedApproval } from './verify-approval.ts';

/** Maximum age of a job's state, unless the host policy overrides it. */
export const STATE_MAX_AGE_MINUTES = 10;

/** Why a signed state does not let an installation go on. */
export type StateRefusal =
  | 'absent'
  | EnvelopeFault
  | 'malformed'
  | 'wrong_fleet'
  | 'wrong_agent'
  | 'stale_epoch'
  | 'stale_keys'
  | 'newer_keys'
  | 'rolled_back'
  | 'older_than_approval'
  | 'too_old'
  | 'taken_back'
  | 'approval_too_old';

export type VerifiedState = { ok: true; state: AgentStatePayload } | { ok: false; reason: StateRefusal };

/** Opens the state that a server signed for one agent; `null` stands for none. */
export function verifyAgentState(
  value: unknown,
  { trusted, agentId, nowMs }: { trusted: TrustedKeySet; agentId: string; nowMs: number },
): VerifiedState {
  if (value === null) return { ok: false, reason: 'absent' };
  const opened = openEnvelope(value, { trusted, payloadType: AGENT_STATE_TYPE, nowMs });
  if (!opened.ok) return opened;
  const parsed = parseStrictJson(opened.payload);
  if (!parsed.ok || !Check(AgentStatePayload, parsed.value)) return { ok: false, reason: 'malformed' };
  if (parsed.value.fleet_id !== trusted.fleet_id) return { ok: false, reason: 'wrong_fleet' };
  if (parsed.value.agent_id !== agentId) return { ok: false, reason: 'wrong_agent' };
  return { ok: true, state: parsed.value };
}

/** What a state may take back: an approval by its token, or a repair by the command that is all of it. */
export interface Permission {
  id: string;
  issuedAt: string;
}

export function permissionOf(
  command: Pick<CommandPayload, 'command_id' | 'issued_at'>,
  approval: VerifiedApproval | null,
): Permission {
  if (approval === null) return { id: command.command_id, issuedAt: command.issued_at };
  return { id: approval.payload.token_id, issuedAt: approval.payload.issued_at };
}

export interface StateFacts {
  permission: Permission;
  /** The highest epoch of the command and of what this host accepted before. */
  epoch: number;
  keySetVersion: number;
  /** The newest signed time seen before; null when none. */
  newestShown: string | null;
  maxAgeMinutes: number;
  /** `trustedNow`. */
  nowMs: number;
}

/** Why a permission is not valid by a verified state; null when it is valid. */
export function judgeByState(state: AgentStatePayload, facts: StateFacts): StateRefusal | null {
  const { permission, newestShown } = facts;
  const signedMs = Date.parse(state.server_time);
  const issuedMs = Date.parse(permission.issuedAt);
  if (state.epoch < facts.epoch) return 'stale_epoch';
  if (state.key_set_version < facts.keySetVersion) return 'stale_keys';
  // The newer key set is missing: it may revoke a key that signed this job (T12).
  if (state.key_set_version > facts.keySetVersion) return 'newer_keys';
  if (newestShown !== null && signedMs < Date.parse(newestShown)) return 'rolled_back';
  if (signedMs < issuedMs) return 'older_than_approval';
  if (signedMs + facts.maxAgeMinutes * 60_000 + CLOCK_SKEW_MS < facts.nowMs) return 'too_old';
  if (state.revoked_tokens.includes(permission.id)) return 'taken_back';
  if (state.approvals_after !== null && issuedMs <= Date.parse(state.approvals_after))
    return 'approval_too_old';
  return null;
}

/** What each refusal means, for the operator who reads the event. */
export const STATE_REFUSAL_TEXT: Record<StateRefusal, string> = {
  absent: 'the job has no signed state, so whether the approval is still valid is unknown',
  malformed_envelope: 'the state of the job is not a signed envelope',
  wrong_type: 'the signed document is not the state of an agent',
  unsigned: 'the state of the job is not signed',
  bad_signature: 'no key that this host trusts signed the state of the job',
  expired_keys: 'the key set of this host has expired',
  malformed: 'the signed state does not match its schema',
  wrong_fleet: 'the state of the job belongs to another fleet',
  wrong_agent: 'the state of the job is for another agent',
  stale_epoch: 'the state of the job was signed before the server was restored',
  stale_keys: 'the state of the job names an older key set than this host has',
  newer_keys: 'the fleet has a newer key set than this host, and it may revoke a key',
  rolled_back: 'the state of the job is older than one that this host has seen',
  older_than_approval: 'the state of the job is older than the approval',
  too_old: 'the state of the job is too old: the approval may have been revoked, or a clock is wrong',
  taken_back: 'the approval was revoked',
  approval_too_old:
    'more approvals were revoked than the state lists, perhaps this one too: approve the update again',
};
