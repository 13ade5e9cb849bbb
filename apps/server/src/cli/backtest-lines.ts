import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { showTable } from '@tidegate/terminal/show-table';

/** What a policy would have done, for a terminal. */
export function backtestLines(told: PolicyBacktest): string[] {
  const { since, until, decisions, cut, unreadable, approves, leaves, updates } = told;
  const sum = (fates: PolicyBacktest['approves']) =>
    `${fates.approved} approved, ${fates.taken_back} taken back, ${fates.not_approved} not approved`;
  const rows = updates.map((one) => [
    ...[one.name, one.to_version, one.hostname, one.decided_at],
    ...[one.reason === null ? 'approved' : `left: ${one.reason}`, one.fate.replaceAll('_', ' ')],
  ]);
  const heading = ['PACKAGE', 'TO VERSION', 'HOST', 'DECIDED', 'IT WOULD HAVE', 'IN TRUTH'];
  return [
    `Decisions from ${since} to ${until}: ${decisions}${cut ? '. There are older ones, which were not judged' : ''}`,
    ...(unreadable > 0 ? [`Records that were changed in the database, and are left out: ${unreadable}`] : []),
    `It would have approved: ${sum(approves)}`,
    `It would have left to people: ${sum(leaves)}`,
    ...(rows.length > 0 ? [showTable([heading, ...rows])] : []),
  ];
}
