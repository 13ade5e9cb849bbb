import { compareText } from '../platform/compare-text.ts';
import { worstSeverity } from '../updates/queue-rules.ts';
import { lowestFix, lowestOf } from './lowest-fix.ts';
import type { Facts } from './read-details.ts';
import type { RowSum } from './tally.ts';
import { exploitedOf } from './unfixed-rules.ts';
import { urgencyOf } from './vulnerability-rows.ts';
import type { UnfixedRow } from './write-store.ts';

/** Packages of a row that are stored: those of most hosts. */
const PACKAGES_MAX = 100;

/** The row of what was counted; `row` is what an earlier pass stored of it. */
export function rowOf(from: {
  sum: RowSum;
  row: UnfixedRow | null;
  facts: Facts;
  nowMs: number;
  newId: () => string;
}): UnfixedRow {
  const { sum, row, facts, nowMs, newId } = from;
  const { ecosystem, record, cves } = sum;
  const told = [...sum.sums].map(({ id }) => id).sort();
  const records = [...new Set([record, ...told])].flatMap((id) => facts.details.get(id) ?? []);
  // An advisory about several says less about each: its severity may be that of another one.
  const exact = records.filter((one) => new Set(one.cves).size <= 1);
  const telling = exact.length > 0 ? exact : records;
  const fixes = [...sum.sums].flatMap((one) => {
    const details = facts.details.get(one.id);
    return (details && lowestFix(one, details)) ?? [];
  });
  const fixed = lowestOf(fixes, ecosystem);
  const ranked = [...sum.sums].flatMap((one) => [...one.packages].map((name, rank) => ({ name, rank })));
  const named = new Set(
    ranked.sort((a, b) => a.rank - b.rank || compareText(a.name, b.name)).map((one) => one.name),
  );
  const packages = [...named].slice(0, PACKAGES_MAX).sort();
  const [distribution = '', name = ''] = sum.key.split('\n');
  const exploited = exploitedOf({
    ...{ cves, isListed: cves.some(facts.isListed), isListKnown: facts.isListKnown },
    isRecordKnown: telling.some((one) => one.record !== null),
  });
  const severity = worstSeverity(telling.flatMap((one) => one.severity ?? []));
  return {
    ...{ id: row?.id ?? newId(), ecosystem, distribution, package: name },
    ...{ vulnerability: record, first_seen_at: row?.first_seen_at ?? nowMs, gone_at: null },
    names: JSON.stringify([...new Set(telling.flatMap(({ names }) => names))]),
    ...{ cves: JSON.stringify(cves), records: JSON.stringify(told) },
    packages: JSON.stringify(packages),
    ...{ hosts: sum.hosts, pending: sum.pending, exploited },
    ...{ severity, urgency: urgencyOf({ severity, exploited, epss: null }) },
    ...{ fixed_in: fixed, fix_known_at: row?.fix_known_at ?? (fixed === null ? null : nowMs) },
    fix_offered_at: row?.fix_offered_at ?? (sum.pending > 0 ? nowMs : null),
    ...{ hook: row?.hook ?? null, note: row?.note ?? null },
    ...{ mitigated_by: row?.mitigated_by ?? null, mitigated_at: row?.mitigated_at ?? null },
  };
}
