import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { Compile } from 'typebox/compile';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { sha256Hex } from '../platform/sha256.ts';
import {
  crowdedUpdates,
  type DecisionRow,
  dropDecisions,
  insertDecisions,
  newestDecisions,
  repeatDecision,
} from './decision-store.ts';
import { type ApprovalDeps, policyOf } from './deps.ts';
import { GATE_VERSION, isReason } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import type { LoadedUpdate } from './load-update.ts';
import { recordedFacts } from './recorded-facts.ts';
import { recordedVerdict } from './replay-decision.ts';
import type { Verdict } from './verdict.ts';

/** Decisions stored per update, the newest; those that minted a token are always kept. */
export const DECISIONS_MAX = 200;

export interface Decision {
  readonly loaded: LoadedUpdate;
  readonly facts: UpdateFacts;
  readonly verdict: Verdict;
  readonly request: ApprovalRequest;
  readonly via: RecordedDecision['via'];
  /** Operator name, or `sweep`. */
  readonly actor: string;
  readonly approvedBy: string | null;
  readonly outcome: RecordedDecision['outcome'];
  readonly outcomeReason: string | null;
  readonly tokenId: string | null;
}

/** The reference to a decision in its events, so that the log vouches for the record. */
export interface DecisionMark {
  readonly id: string;
  readonly sha256: string;
}

/** Records what a decision rested on, in the decision's transaction. */
export async function recordDecision(tx: Tx, deps: ApprovalDeps, decision: Decision): Promise<DecisionMark> {
  const [mark] = await recordDecisions(tx, deps, [decision]);
  if (!mark) throw new Error('every decision has a mark');
  return mark;
}

/**
 * The same for decisions of different updates, in the given order. A repeated decision, on facts that differ only by the
 * passing of time, is counted on the existing row.
 */
export async function recordDecisions(
  tx: Tx,
  deps: ApprovalDeps,
  decisions: readonly Decision[],
): Promise<DecisionMark[]> {
  const nowMs = deps.platform.now();
  const records = decisions.map((decision) => {
    const record = wellFormed(recordOf(deps, decision));
    return { updateId: decision.loaded.update.id, record, fingerprint: fingerprintOf(record) };
  });
  const repeatable = records.filter(({ record }) => record.outcome !== 'minted');
  const newest = await newestDecisions(
    tx,
    repeatable.map(({ updateId }) => updateId),
  );
  const rows: DecisionRow[] = [];
  const marks: DecisionMark[] = [];
  for (const { updateId, record, fingerprint } of records) {
    const before = newest.get(updateId);
    if (record.outcome !== 'minted' && before?.fingerprint === fingerprint) {
      await repeatDecision(tx, { id: before.id, nowMs });
      marks.push({ id: before.id, sha256: before.document_sha256 });
      continue;
    }
    const document = canonicalJson(record);
    const sha256 = sha256Hex(document);
    rows.push({
      id: record.id,
      update_id: updateId,
      plan_id: record.plan?.id ?? null,
      outcome: record.outcome,
      actor: record.actor,
      token_id: record.token_id,
      fingerprint,
      document,
      document_sha256: sha256,
      decided_at: nowMs,
      repeated_at: null,
      repeats: 0,
    });
    marks.push({ id: record.id, sha256 });
  }
  await insertDecisions(tx, rows);
  const updateIds = rows.map(({ update_id }) => update_id);
  for (const updateId of await crowdedUpdates(tx, { updateIds, most: DECISIONS_MAX })) {
    await dropDecisions(tx, { updateId, keep: DECISIONS_MAX });
  }
  return marks;
}

function recordOf(deps: ApprovalDeps, decision: Decision): RecordedDecision {
  const { platform } = deps;
  const { update, planned } = decision.loaded;
  const { ageMode, vulnerabilities, uncovered, unchecked, unimportant } = policyOf(deps);
  const { by, override, overrideReason } = decision.request;
  return {
    v: 1,
    id: platform.newId(),
    gate_version: GATE_VERSION,
    decided_at: rfc3339(platform.now()),
    via: decision.via,
    actor: decision.actor,
    approved_by: decision.approvedBy,
    update: {
      id: update.id,
      agent_id: update.agent_id,
      name: update.name,
      arch: update.arch || null,
      from_version: update.current_version || null,
      to_version: update.available_version,
    },
    plan: planned && { id: planned.plan.id, plan_sha256: planned.plan.planSha256 },
    policy: { age_mode: ageMode, vulnerabilities, uncovered, unchecked, unimportant },
    request: {
      by,
      override,
      override_reason:
        overrideReason === null
          ? null
          : { sha256: sha256Hex(overrideReason), blank: !isReason(overrideReason) },
    },
    facts: recordedFacts(decision.facts),
    verdict: recordedVerdict(decision.verdict),
    outcome: decision.outcome,
    outcome_reason: decision.outcomeReason,
    token_id: decision.tokenId,
  };
}

/** What makes two decisions the same: everything except their ids and what only the clock changes. */
function fingerprintOf({ id: _, decided_at: __, facts, ...record }: RecordedDecision): string {
  const { judged } = facts;
  const timeless = judged && {
    ...judged,
    closure: {
      ...judged.closure,
      checked_at_ms: null,
      findings: judged.closure.findings.items.map(withoutEpss),
      fixed: judged.closure.fixed.items.map(withoutEpss),
    },
    age: {
      ...judged.age,
      violations: judged.age.violations.items.map((violation) => ({
        ...violation,
        age_hours: violation.age_hours === null ? null : 0,
      })),
    },
  };
  return sha256Hex(canonicalJson({ ...record, facts: { ...facts, judged: timeless } }));
}

/** The feed states another probability every day. */
function withoutEpss<T extends object>(one: T): T & { epss: null } {
  return { ...one, epss: null };
}

const records = Compile(RecordedDecision);

/** Names and texts come from hosts and advisories: invalid Unicode, which RFC 8785 rejects, must not prevent a record. */
function wellFormed(record: RecordedDecision): RecordedDecision {
  const text = JSON.stringify(record, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
  const mended: unknown = JSON.parse(text);
  if (records.Check(mended)) return mended;
  throw new Error('the recorded decision fails its own schema');
}
