import { Envelope } from '@tidegate/protocol/documents';
import {
  Policy,
  PolicyDetail,
  PolicyEnd,
  type PolicyItem,
  PolicyPayload,
  type PolicyRequest,
  type PolicyTerms,
  StoppedBy,
  type WindowTimes,
} from '@tidegate/protocol/policies-api';
import type { Rings, UnprovenRule } from '@tidegate/protocol/rings';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import { followUpFault, type PossibleAuthor } from './author-rules.ts';
import { nextWindows, type PolicyOpening, windowOf } from './policy-windows.ts';
import type { AnyPolicyRow, PolicyRow, RunRow } from './store.ts';
import { followUpsOf, type Windowed } from './window-actions.ts';

/** The signed document of a version. */
export function payloadOf({ document }: Pick<AnyPolicyRow, 'document'>): PolicyPayload {
  return Value.Parse(PolicyPayload, JSON.parse(document));
}

/** What its author has written. */
export function requestOf(payload: PolicyPayload): PolicyRequest {
  const { name, text, scope, terms, windows, ends_at, rings, unproven } = payload;
  return {
    ...{ name, text, scope, terms, windows, ends_at },
    ...followUpsOf(payload),
    ...(rings && { rings }),
    ...(unproven !== undefined && { unproven }),
  };
}

/** A version in force, as the gate is asked with it. */
export function askingPolicy(row: PolicyRow): AskingPolicy {
  const payload = payloadOf(row);
  const { terms } = payload;
  return { policyId: row.policy_id, sha256: row.sha256, terms, rings: ringsAsked(payload) };
}

/** The rings of a policy with the rule for what they have not proved; null: it has none. */
export function ringsAsked({
  rings,
  unproven = 'ask',
}: Pick<PolicyRequest, 'rings' | 'unproven'>): AskingPolicy['rings'] {
  return rings ? { rings, unproven } : null;
}

/** A version of a policy, as far as the gate needs it. */
export interface AskingPolicy {
  readonly policyId: string;
  readonly sha256: string;
  readonly terms: PolicyTerms;
  readonly rings: { readonly rings: Rings; readonly unproven: UnprovenRule } | null;
}

export function policyView(row: AnyPolicyRow, { run, nowMs }: { run: RunRow | null; nowMs: number }): Policy {
  const request = requestOf(payloadOf(row));
  const end = endOf(row);
  return Value.Parse(Policy, {
    ...{ id: row.policy_id, version: row.version, sha256: row.sha256, ...request },
    ...{ state: stateOf(row, nowMs), end_reason: end },
    ...{ author: row.author, created_at: rfc3339(row.created_at), ended_by: row.ended_by },
    ended_at: row.ended_at === null ? null : rfc3339(row.ended_at),
    last_run: run && {
      ...{ at: rfc3339(run.at), hosts: run.hosts, approved: run.approved },
      ...{ awaiting_plan: run.awaiting_plan, stopped: run.stopped, stopped_by: stoppedBy(run) },
    },
  });
}

export function stoppedBy({ stopped_by: json }: RunRow): StoppedBy {
  return Value.Parse(StoppedBy, JSON.parse(json));
}

/** A policy as the list has it. */
export function policyItem(row: AnyPolicyRow, context: { run: RunRow | null; nowMs: number }): PolicyItem {
  const policy = policyView(row, context);
  return { ...policy, window: policy.state === 'in_force' ? openOrNext(policy, context.nowMs) : null };
}

function openOrNext(policy: Windowed, nowMs: number): WindowTimes | null {
  const window = windowOf(policy, 'install', nowMs);
  const shown = window.kind === 'open' ? window.occurrence : nextWindows(policy, nowMs, 'install')[0];
  return shown ? windowTimes(shown) : null;
}

export function windowTimes({ startMs, endMs, actions }: PolicyOpening): WindowTimes {
  return { opens_at: rfc3339(startMs), closes_at: rfc3339(endMs), actions };
}

/** `versions`: all of the policy, the newest first. */
export function policyDetail(
  versions: readonly [AnyPolicyRow, ...AnyPolicyRow[]],
  context: { run: RunRow | null; nowMs: number; author: PossibleAuthor | null },
): PolicyDetail {
  const [newest] = versions;
  return Value.Parse(PolicyDetail, {
    ...policyView(newest, context),
    envelope: Value.Parse(Envelope, JSON.parse(newest.envelope)),
    follow_ups_stopped: areFollowUpsStopped(newest, context),
    versions: versions.map((row) => ({
      ...{ version: row.version, sha256: row.sha256, author: row.author },
      ...{ created_at: rfc3339(row.created_at), end_reason: endOf(row) },
      ended_at: row.ended_at === null ? null : rfc3339(row.ended_at),
    })),
  });
}

/** A version that has ended asks for nothing in any case, and says so elsewhere. */
function areFollowUpsStopped(
  row: AnyPolicyRow,
  { author, nowMs }: { author: PossibleAuthor | null; nowMs: number },
): boolean {
  const isInForce = stateOf(row, nowMs) === 'in_force';
  return isInForce && author !== null && followUpFault(followUpsOf(payloadOf(row)), author) !== null;
}

function endOf({ end_reason: reason }: AnyPolicyRow): PolicyEnd | null {
  return reason === null ? null : Value.Parse(PolicyEnd, reason);
}

function stateOf(row: AnyPolicyRow, nowMs: number): Policy['state'] {
  const reason = endOf(row);
  if (reason === null) return row.ends_at > nowMs ? 'in_force' : 'expired';
  if (reason === 'replaced' || reason === 'revoked' || reason === 'expired') return reason;
  return 'suspended';
}
