import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { Compile } from 'typebox/compile';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { setDigest } from '../updates/update-set.ts';
import {
  crowdedSets,
  dropDecisions,
  insertDecisions,
  type NewDecision,
  newestDecisions,
  repeatDecision,
} from './decision-store.ts';
import { type ApprovalDeps, policyOf } from './deps.ts';
import { GATE_VERSION, isReason } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { type LoadedSet, updateIdsOf } from './load-update.ts';
import { recordedFacts } from './recorded-facts.ts';
import { recordedStanding } from './recorded-standing.ts';
import { recordedVerdict } from './replay-decision.ts';
import type { Verdict } from './verdict.ts';

/** Decisions stored per set of updates, the newest; those that minted a token are always kept. */
export const DECISIONS_MAX = 200;

export interface Decision {
  readonly loaded: LoadedSet;
  readonly facts: UpdateFacts;
  readonly verdict: Verdict;
  readonly request: ApprovalRequest;
  readonly via: RecordedDecision['via'];
  /** The event of the bulk request that asked; null: none did. */
  readonly bulkId: string | null;
  /** Operator name, `sweep` or `policy`. */
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
 * The same for decisions about different sets, in the given order. A repeated decision, on facts that differ only by the
 * passing of time, is counted on the existing row.
 */
export async function recordDecisions(
  tx: Tx,
  deps: ApprovalDeps,
  decisions: readonly Decision[],
): Promise<DecisionMark[]> {
  const nowMs = deps.platform.now();
  const records = decisions.map((decision) => {
    const { outcome, verdict } = decision;
    deps.onDecision?.({ outcome, stop: verdict.kind === 'blocked' ? verdict.stop.reason : null });
    const record = wellFormed(recordOf(deps, decision));
    const updateIds = updateIdsOf(decision.loaded);
    return { updateIds, set: setDigest(updateIds), record, fingerprint: fingerprintOf(record) };
  });
  const repeatable = records.filter(({ record }) => record.outcome !== 'minted');
  const newest = await newestDecisions(
    tx,
    repeatable.map(({ set }) => set),
  );
  const fresh: NewDecision[] = [];
  const marks: DecisionMark[] = [];
  for (const { updateIds, set, record, fingerprint } of records) {
    const before = newest.get(set);
    if (record.outcome !== 'minted' && before?.fingerprint === fingerprint) {
      await repeatDecision(tx, { id: before.id, nowMs });
      marks.push({ id: before.id, sha256: before.document_sha256 });
      continue;
    }
    const document = canonicalJson(record);
    const sha256 = sha256Hex(document);
    const row = {
      id: record.id,
      agent_id: record.agent_id,
      set_sha256: set,
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
    };
    fresh.push({ row, updateIds });
    marks.push({ id: record.id, sha256 });
  }
  await insertDecisions(tx, fresh);
  const sets = fresh.map(({ row }) => row.set_sha256);
  for (const setSha256 of await crowdedSets(tx, { sets, most: DECISIONS_MAX })) {
    await dropDecisions(tx, { setSha256, keep: DECISIONS_MAX });
  }
  return marks;
}

function recordOf(deps: ApprovalDeps, decision: Decision): RecordedDecision {
  const { platform } = deps;
  const { updates, agent, planned } = decision.loaded;
  const { ageMode, vulnerabilities, uncovered, unchecked, unimportant } = policyOf(deps);
  const { by, override, overrideReason, standing } = decision.request;
  return {
    v: 1,
    id: platform.newId(),
    gate_version: GATE_VERSION,
    decided_at: rfc3339(platform.now()),
    via: decision.via,
    ...(decision.bulkId !== null && { bulk_id: decision.bulkId }),
    actor: decision.actor,
    approved_by: decision.approvedBy,
    agent_id: agent.id,
    updates: updates.map((update) => ({
      id: update.id,
      name: update.name,
      arch: update.arch || null,
      from_version: update.current_version || null,
      to_version: update.available_version,
    })),
    plan: planned && { id: planned.plan.id, plan_sha256: planned.plan.planSha256 },
    policy: { age_mode: ageMode, vulnerabilities, uncovered, unchecked, unimportant },
    request: {
      by,
      override,
      override_reason:
        overrideReason === null
          ? null
          : { sha256: sha256Hex(overrideReason), blank: !isReason(overrideReason) },
      ...(standing && { standing: recordedStanding(standing) }),
    },
    facts: recordedFacts(decision.facts),
    verdict: recordedVerdict(decision.verdict),
    outcome: decision.outcome,
    outcome_reason: decision.outcomeReason,
    token_id: decision.tokenId,
  };
}

/** What makes two decisions the same: everything except their ids and what only the clock changes. */
function fingerprintOf({
  id: _,
  decided_at: __,
  bulk_id: ___,
  facts,
  request,
  ...record
}: RecordedDecision): string {
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
  const { standing } = request;
  const asked = { ...request, ...(standing && { standing: { ...standing, at_ms: 0 } }) };
  return sha256Hex(canonicalJson({ ...record, request: asked, facts: { ...facts, judged: timeless } }));
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
