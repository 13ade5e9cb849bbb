import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import { canonicalName } from '@tidegate/versions/names';
import type { BroughtVersion, PolicySubject } from '../policies/policy-rules.ts';
import type { SeenVersion } from '../release-times/seen-rules.ts';
import { judgeRecord } from './replay-decision.ts';

/** What is known of an update beside the record; a record does not say where an update comes from. */
export interface PastUpdate {
  readonly id: string;
  readonly available_version: string;
  readonly origin: string | null;
  readonly security: number;
  readonly change: PolicySubject['change'];
}

/** The facts of then that a record of an operator's decision lacks. */
export interface PastFacts {
  readonly updates: ReadonlyMap<string, PastUpdate>;
  /** The versions that the plan brings, and when the fleet first saw each; null: the plan is not stored any more. */
  readonly brought: readonly { version: SeenVersion; firstSeenMs: number | null }[] | null;
}

/** A policy that never was in force has no digest. */
const NEVER = { policyId: '00000000-0000-0000-0000-000000000000', sha256: '0'.repeat(64) };

/**
 * Why a policy with these terms would have left the updates of a recorded decision to people; null: it would have
 * approved them. The same gate judges the same facts, asked by the policy. What is not known any more meets no condition.
 */
export function leftThen(record: RecordedDecision, terms: PolicyTerms, past: PastFacts): string | null {
  const standing = {
    ...{ ...NEVER, terms, atMs: Date.parse(record.decided_at) },
    updates: record.request.standing?.updates ?? subjectsThen(record, past),
    brought: terms.min_age_hours === null ? [] : broughtThen(record, past),
  };
  const verdict = judgeRecord(record, { by: 'policy', override: false, overrideReason: null, standing });
  if (verdict.kind === 'mint') return null;
  return verdict.kind === 'blocked' ? verdict.stop.reason : verdict.kind;
}

function subjectsThen({ updates, facts }: RecordedDecision, past: PastFacts): PolicySubject[] {
  const { ecosystem, judged } = facts;
  const fixed = Map.groupBy(judged?.closure.fixed.items ?? [], (fix) =>
    canonicalName(ecosystem, fix.package),
  );
  return updates.map(({ id, name, to_version: version }) => {
    const row = past.updates.get(id);
    // A row that has moved on to another version speaks of that one.
    const known = row?.available_version === version ? row : null;
    const fixes = (fixed.get(canonicalName(ecosystem, name)) ?? []).map(({ severity }) => severity ?? null);
    return {
      ...{ ecosystem, name, origin: known?.origin ?? null, security: known?.security === 1 },
      ...{ change: known?.change ?? null, fixes: judged && fixes },
    };
  });
}

function broughtThen({ updates, facts }: RecordedDecision, { brought }: PastFacts): BroughtVersion[] {
  const { ecosystem, judged } = facts;
  if (brought === null) {
    return updates.map(({ name, to_version: version }) => ({ package: name, version, sinceMs: null }));
  }
  const keyOf = (name: string, version: string) => `${canonicalName(ecosystem, name)}\n${version}`;
  const released = new Map(
    judged?.age.times.items.map((one) => [keyOf(one.package, one.version), one.published_at_ms]),
  );
  return brought.map(({ version: { name, version }, firstSeenMs }) => ({
    ...{ package: name, version },
    sinceMs: released.get(keyOf(name, version)) ?? firstSeenMs,
  }));
}
