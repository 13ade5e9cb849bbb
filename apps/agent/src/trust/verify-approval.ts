import { createHash } from 'node:crypto';
import { bundleFaults, bundlersOf } from '@tidegate/protocol/bundles';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import {
  APPROVAL_MAX_BYTES,
  APPROVAL_TYPE,
  ApprovalPayload,
  type ApprovalReference,
  type Envelope,
} from '@tidegate/protocol/documents';
import { missedTargets, planFaults } from '@tidegate/protocol/plan';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { hasPassed } from '../platform/clock.ts';
import { type EnvelopeFault, openEnvelope } from './open-envelope.ts';

const verified: unique symbol = Symbol('verified approval');

/** A verified approval. Only `verifyApproval` creates one, so no installer runs without it (A4). */
export interface VerifiedApproval {
  readonly payload: ApprovalPayload;
  /** With all its signatures; only one of them was verified. */
  readonly envelope: Envelope;
  readonly [verified]: true;
}

export type ApprovalRefusal =
  | 'too_large'
  | EnvelopeFault
  | 'malformed'
  | 'not_the_referenced_one'
  | 'wrong_fleet'
  | 'wrong_agent'
  | 'wrong_updates'
  | 'expired'
  | 'plan_digest_differs'
  | 'unsound_plan';

export interface ApprovalContext {
  trusted: TrustedKeySet;
  agentId: string;
  /** The updates that the signed command names. */
  updateIds: readonly string[];
  /** The signed command's reference to its approval. */
  reference: ApprovalReference;
  nowMs: number;
}

export type ApprovalOutcome =
  | { ok: true; approval: VerifiedApproval }
  | { ok: false; reason: ApprovalRefusal };

/** Verifies the bytes of an approval from an untrusted file. */
export function verifyApprovalBytes(bytes: Uint8Array, context: ApprovalContext): ApprovalOutcome {
  if (bytes.length > APPROVAL_MAX_BYTES) return { ok: false, reason: 'too_large' };
  const parsed = parseStrictJson(bytes);
  return parsed.ok ? verifyApproval(parsed.value, context) : { ok: false, reason: 'malformed_envelope' };
}

/** Judges the signed token of E3 against the command that refers to it. */
export function verifyApproval(value: unknown, context: ApprovalContext): ApprovalOutcome {
  const opened = openEnvelope(value, { ...context, payloadType: APPROVAL_TYPE });
  if (!opened.ok) return opened;
  const sha256 = createHash('sha256').update(opened.payload).digest('hex');
  if (sha256 !== context.reference.sha256) return { ok: false, reason: 'not_the_referenced_one' }; // T13
  const parsed = parseStrictJson(opened.payload);
  if (!parsed.ok || !Check(ApprovalPayload, parsed.value)) return { ok: false, reason: 'malformed' };
  const payload = parsed.value;
  if (payload.token_id !== context.reference.token_id) return { ok: false, reason: 'not_the_referenced_one' };
  if (payload.fleet_id !== context.trusted.fleet_id) return { ok: false, reason: 'wrong_fleet' };
  if (payload.agent_id !== context.agentId) return { ok: false, reason: 'wrong_agent' };
  if (!namesExactly(payload, context.updateIds)) return { ok: false, reason: 'wrong_updates' };
  if (hasPassed(payload.expires_at, context.nowMs)) return { ok: false, reason: 'expired' };
  const planSha256 = createHash('sha256').update(canonicalJson(payload.actions)).digest('hex');
  if (planSha256 !== payload.plan_sha256) return { ok: false, reason: 'plan_digest_differs' };
  if (!isSound(payload)) return { ok: false, reason: 'unsound_plan' };
  return { ok: true, approval: { payload, envelope: opened.envelope, [verified]: true } };
}

/** Both lists ascend, so one set has one form: a repeated id or another order is refused. */
function namesExactly({ updates }: ApprovalPayload, updateIds: readonly string[]): boolean {
  const isAscending = updateIds.every((id, i) => i === 0 || (updateIds[i - 1] ?? '') < id);
  return (
    isAscending &&
    updates.length === updateIds.length &&
    updates.every(({ update_id }, i) => update_id === updateIds[i])
  );
}

/**
 * A sound plan names no artifact twice (except bundled packages, decision 0011), names no path outside its
 * folder, and brings every update to its approved version.
 */
function isSound(payload: ApprovalPayload): boolean {
  const { actions } = payload;
  if (planFaults({ resolved_at: payload.issued_at, actions }).length > 0) return false;
  if (bundleFaults(payload).length > 0) return false;
  const bundlers = bundlersOf(payload);
  const filenames = actions.flatMap((action) =>
    bundlers.has(action) ? [] : (action.artifact?.filename ?? []),
  );
  if (new Set(filenames).size !== filenames.length) return false;
  if (filenames.some((name) => name === '.' || name === '..' || name.includes('\\'))) return false;
  return missedTargets(payload, payload.updates).length === 0;
}

/** The meaning of each refusal, for operators. */
export const APPROVAL_REFUSAL_TEXT: Record<ApprovalRefusal, string> = {
  too_large: 'the approval is larger than 4 MiB',
  malformed_envelope: 'the approval is not a signed envelope',
  wrong_type: 'the signed document is not an approval',
  unsigned: 'the approval is not signed',
  bad_signature: 'no key that this host trusts signed the approval',
  expired_keys: 'the key set of this host has expired',
  malformed: 'the signed approval does not match its schema',
  not_the_referenced_one: 'the command names another approval',
  wrong_fleet: 'the approval is for another fleet',
  wrong_agent: 'the approval is for another agent',
  wrong_updates: 'the approval does not name exactly the updates of the command',
  expired: 'the approval has expired',
  plan_digest_differs: 'the actions of the approval do not match their digest',
  unsound_plan: 'the plan in the approval cannot be executed safely',
};
