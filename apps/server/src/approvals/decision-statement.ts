import {
  DECISION_PREDICATE_TYPE,
  DecisionStatement,
  type RecordedDecision,
  STATEMENT_TYPE,
  STATEMENT_V1,
} from '@tidegate/protocol/decisions-api';
import type { Envelope } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Value } from 'typebox/value';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { readPlan, type StoredPlan } from '../updates/store.ts';
import { findDecision } from './decision-store.ts';
import { readRecord } from './read-decision.ts';

/** Largest statement, in bytes: the limit of the signing library. */
const STATEMENT_MAX_BYTES = 4 * 1024 * 1024;

/** The key ring, as far as it is used here. */
export interface StatementSigner {
  readonly fleetId: string;
  signer(): { sign: ReturnType<KeyRing['signer']>['sign'] };
}

export type StatementOutcome =
  | { readonly kind: 'signed'; readonly envelope: Envelope }
  /** No such decision; or without a plan, and so without artifacts; or with too many of them. */
  | { readonly kind: 'not_found' | 'no_plan' | 'too_large' };

/**
 * A decision as an in-toto statement about the artifacts of its plan, signed on demand by the key in use: it contains
 * the time of signing beside that of the decision (decision record 0010).
 */
export async function signDecision(
  db: Db,
  signer: StatementSigner,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<StatementOutcome> {
  const row = await findDecision(db, id);
  if (!row) return { kind: 'not_found' };
  const plan = row.plan_id === null ? null : await readPlan(db, row.plan_id);
  if (!plan) return { kind: 'no_plan' };
  const record = readRecord(row);
  const about = { record, sha256: row.document_sha256, plan, fleetId: signer.fleetId, nowMs };
  const bytes = Buffer.from(JSON.stringify(statementOf(about)));
  if (bytes.length > STATEMENT_MAX_BYTES) return { kind: 'too_large' };
  return { kind: 'signed', envelope: signer.signer().sign(STATEMENT_TYPE, bytes) };
}

export function statementOf(args: {
  record: RecordedDecision;
  sha256: string;
  plan: StoredPlan;
  fleetId: string;
  nowMs: number;
}): DecisionStatement {
  const { record, sha256, plan, fleetId, nowMs } = args;
  const { facts, verdict, request } = record;
  const closure = facts.judged?.closure ?? null;
  const isWaived = verdict.kind === 'mint' && verdict.waived !== null;
  const reason = request.override_reason;
  return Value.Parse(DecisionStatement, {
    _type: STATEMENT_V1,
    subject: subjectsOf(plan),
    predicateType: DECISION_PREDICATE_TYPE,
    predicate: {
      fleet_id: fleetId,
      decision_id: record.id,
      record_sha256: sha256,
      gate_version: record.gate_version,
      via: record.via,
      agent_id: record.agent_id,
      updates: record.updates,
      ecosystem: facts.ecosystem,
      plan_sha256: plan.planSha256,
      policy: record.policy,
      snapshot: {
        source: closure?.source ?? null,
        snapshot: closure?.snapshot ?? null,
        checked_at_ms: closure?.checked_at_ms ?? null,
      },
      verdict,
      outcome: record.outcome,
      outcome_reason: record.outcome_reason,
      token_id: record.token_id,
      override: isWaived && reason ? { by: record.actor, reason_sha256: reason.sha256 } : null,
      decided_at: record.decided_at,
      decided_by: record.actor,
      approved_by: record.approved_by,
      signed_at: rfc3339Seconds(nowMs),
    },
  });
}

/** The artifacts with their digests; a plan that only removes has none, and is itself the subject. */
function subjectsOf({ actions, planSha256 }: StoredPlan): DecisionStatement['subject'] {
  const subjects = actions.flatMap(subjectOf);
  return subjects.length > 0 ? subjects : [{ name: 'plan', digest: { sha256: planSha256 } }];
}

function subjectOf({ name, arch, to_version: version, origin, artifact }: PlanAction) {
  if (!artifact) return [];
  const { filename, sha256, sha512 } = artifact;
  return [
    {
      name: filename,
      digest: { ...(sha256 !== undefined && { sha256 }), ...(sha512 !== undefined && { sha512 }) },
      annotations: {
        package: name,
        ...(version !== undefined && { version }),
        ...(arch !== undefined && { arch }),
        ...(origin !== undefined && { origin }),
      },
    },
  ];
}
