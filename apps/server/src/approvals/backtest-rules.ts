import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import type { BroughtVersion, PolicySubject } from '../policies/policy-rules.ts';
import type { FirstSeen, SeenVersion } from '../release-times/seen-rules.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { UpdateFacts } from './gate-facts.ts';
import { judgeRecord } from './replay-decision.ts';
import { DRAFT_POLICY, subjectsOf, withAges } from './standing.ts';

/** What is known of an update beside the record; a record does not say where an update comes from. */
export type PastUpdate = Pick<UpdateRow, 'id' | 'available_version' | 'origin' | 'security' | 'change'>;

/** The facts of then that a record of an operator's decision lacks. */
export interface PastFacts {
  readonly updates: ReadonlyMap<string, PastUpdate>;
  /** The versions that the plan brings, and when the fleet first saw them; null: the plan is not stored any more. */
  readonly brought: {
    readonly versions: readonly SeenVersion[];
    readonly firstSeen: readonly FirstSeen[];
  } | null;
}

/**
 * Why a policy with these terms would have left the updates of a recorded decision to people; null: it would have
 * approved them. The same gate judges the same facts, asked by the policy. What is not known any more meets no condition.
 */
export function leftThen(record: RecordedDecision, terms: PolicyTerms, past: PastFacts): string | null {
  const verdict = judgeRecord(record, (facts) => {
    const standing = {
      ...{ ...DRAFT_POLICY, terms, atMs: Date.parse(record.decided_at) },
      updates: record.request.standing?.updates ?? subjectsThen(record, facts, past),
      brought: terms.min_age_hours === null ? [] : broughtThen(record, facts, past),
    };
    return { by: 'policy', override: false, overrideReason: null, standing };
  });
  if (verdict.kind === 'mint') return null;
  return verdict.kind === 'blocked' ? verdict.stop.reason : verdict.kind;
}

function subjectsThen({ updates }: RecordedDecision, facts: UpdateFacts, past: PastFacts): PolicySubject[] {
  const rows = updates.map(({ id, name, to_version: version }) => {
    const row = past.updates.get(id);
    // A row that has moved on to another version speaks of that one.
    const known = row?.available_version === version ? row : null;
    const { origin = null, security = 0, change = null } = known ?? {};
    return { name, available_version: version, origin, security, change };
  });
  return subjectsOf(facts.ecosystem, rows, facts);
}

function broughtThen(
  { updates }: RecordedDecision,
  facts: UpdateFacts,
  { brought }: PastFacts,
): BroughtVersion[] {
  if (brought !== null) return withAges(brought.versions, { facts, firstSeen: brought.firstSeen });
  return updates.map(({ name, to_version: version }) => ({ package: name, version, sinceMs: null }));
}
