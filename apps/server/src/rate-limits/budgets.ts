import { LIMIT_CLASSES, type LimitClass } from '../platform/http/access.ts';

/** Requests that a key of a class may make in any window of that length (R9). */
export interface Budget {
  readonly requests: number;
  readonly windowSeconds: number;
  readonly enabled: boolean;
}

export type BudgetTable = Readonly<Record<LimitClass, Budget>>;

function perMinute(requests: number): Budget {
  return { requests, windowSeconds: 60, enabled: true };
}

/** The defaults; docs/protocol/limits.md lists them. */
export const DEFAULT_BUDGETS: BudgetTable = {
  agent_registration: perMinute(120),
  agent_renewal: perMinute(10),
  agent_checkin: perMinute(60),
  agent_reports: perMinute(120),
  admin_operations: perMinute(100),
  approvals: perMinute(300),
  admin_reads: perMinute(600),
  public_access: perMinute(600),
  login: perMinute(10),
  client_errors: perMinute(30),
  fleet_lock: perMinute(120),
};

/** The current budgets, read at every request, so that a change applies from the next one on (E5). */
export interface Budgets {
  of(limitClass: LimitClass): Budget;
  table(): BudgetTable;
  replace(table: BudgetTable): void;
}

export function createBudgets(initial: BudgetTable = DEFAULT_BUDGETS): Budgets {
  let table = initial;
  return {
    of: (limitClass) => table[limitClass],
    table: () => table,
    replace(next) {
      table = next;
    },
  };
}

export function isLimitClass(text: string): text is LimitClass {
  return LIMIT_CLASSES.some((limitClass) => limitClass === text);
}
