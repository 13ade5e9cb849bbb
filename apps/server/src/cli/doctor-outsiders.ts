import { ALL, BUDGETS, type Budget, dayOf } from '../outsiders/budget-rules.ts';
import { heaviestUsage, type UsageRow } from '../outsiders/store.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

/** Share of a budget from which a subject is named. */
const NAMED_FROM = 0.5;
const NAMED_MAX = 5;

/** Names outsiders whose writes of yesterday or today spent a budget, or nearly did. */
export async function judgeOutsiders({ read }: Database, now: () => number): Promise<Finding> {
  const check = 'outsiders';
  const named: string[] = [];
  let isSpent = false;
  for (const [kind, budget] of Object.entries<Budget>(BUDGETS)) {
    const rows = await heaviestUsage(read, { kind, sinceDay: dayOf(now()) - 1, limit: NAMED_MAX });
    for (const row of rows) {
      const share = shareOf(row, budget);
      if (share < NAMED_FROM) continue;
      isSpent ||= share > 1;
      named.push(`${row.subject === ALL ? 'all together' : row.subject} ${percent(share)} of ${kind}`);
    }
  }
  if (named.length === 0) {
    return { check, level: 'ok', detail: "no outsider has written half of a day's budget" };
  }
  const detail = `${named.slice(0, NAMED_MAX).join('; ')}${isSpent ? '; further writes are counted and dropped' : ''}`;
  const todo = 'inspect the host or address; revoke the host, or block the address in front of the server';
  return { check, level: 'warn', detail, todo };
}

function shareOf({ subject, rows, bytes }: UsageRow, { all, ...own }: Budget): number {
  const budget = subject === ALL ? (all ?? own) : own;
  return Math.max(rows / budget.rows, bytes / budget.bytes);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
