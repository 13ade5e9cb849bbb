import { isDeepStrictEqual } from 'node:util';
import type { RecordedDecision, RecordedVerdict } from '@tidegate/protocol/decisions-api';
import type { Finding } from '../advisories/closure-facts.ts';
import { type Excuse, usedStatements } from './counting-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { factsOfRecord } from './recorded-facts.ts';
import { standingOfRecord } from './recorded-standing.ts';
import type { Verdict } from './verdict.ts';

export interface Replay {
  readonly verdict: RecordedVerdict;
  /** Whether the gate decides the record the same as then. */
  readonly isSame: boolean;
}

/** Decides a recorded decision again, from the record alone. */
export function replayDecision(record: RecordedDecision): Replay {
  const { by, override, override_reason: reason, standing } = record.request;
  // The gate only checks whether there is a reason.
  const overrideReason = reason && (reason.blank ? '' : reason.sha256);
  const request = { by, override, overrideReason, ...(standing && { standing: standingOfRecord(standing) }) };
  const verdict = recordedVerdict(judgeRecord(record, () => request));
  return { verdict, isSame: isDeepStrictEqual(verdict, record.verdict) };
}

/** What the gate says to a request about a recorded decision, on its facts and settings. */
export function judgeRecord(
  { policy, facts: recorded }: RecordedDecision,
  requestOf: (facts: UpdateFacts) => ApprovalRequest,
): Verdict {
  // Records before gate version 3 know no vendor's word; those before version 4 decided as with `unchecked: warn`.
  const { age_mode: ageMode, vulnerabilities, uncovered, unchecked = 'warn', unimportant = 'block' } = policy;
  const facts = factsOfRecord(recorded);
  return judge(facts, { ageMode, vulnerabilities, uncovered, unchecked, unimportant }, requestOf(facts));
}

/** A verdict in recorded form. */
export function recordedVerdict(verdict: Verdict): RecordedVerdict {
  switch (verdict.kind) {
    case 'mint': {
      const { kind, override, warnings, excused } = verdict;
      const waived = override && { ...override.stop };
      return { kind, waived, warnings: [...warnings], ...statementsOf(excused) };
    }
    case 'blocked':
      return {
        kind: verdict.kind,
        stop: { ...verdict.stop },
        overridable: verdict.overridable,
        ...statementsOf(verdict.excused),
      };
    case 'plan_unknown':
    case 'plan_required':
    case 'override_reason_required':
    case 'verdict_pending':
      return { kind: verdict.kind };
  }
}

function statementsOf(excused: ReadonlyMap<Finding, Excuse>): { statements?: string[] } {
  const ids = usedStatements(excused).map(({ id }) => id);
  return ids.length > 0 ? { statements: ids } : {};
}
