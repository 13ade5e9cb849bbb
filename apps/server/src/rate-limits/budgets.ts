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

/** Counted for all servers together: what slows guessing down, and what approves. */
export const SHARED_CLASSES: ReadonlySet<LimitClass> = new Set(['login', 'approvals']);

/** Whole on each server: a host keeps its connection to one, and the budget bounds that host alone. */
const HOST_CLASSES: ReadonlySet<LimitClass> = new Set(['agent_renewal', 'agent_checkin', 'agent_reports']);

/** The current budgets, read at every request, so that a change applies from the next one on (E5). */
export interface Budgets {
  /** What this server may accept: its part of the budget, or all of one that is a host's or is counted together. */
  of(limitClass: LimitClass): Budget;
  table(): BudgetTable;
  replace(table: BudgetTable): void;
  /** Divides the budgets among so many servers. */
  divide(servers: number): void;
}

/** The class that workers of a server count too; all others are counted by the server alone. */
const WORKER_CLASS = 'agent_checkin';

/** What each of the workers of a server may accept of a host; the server keeps the rest, so that the sum is the budget. */
export function workerBudget(table: BudgetTable, processes: number): Budget {
  const budget = table[WORKER_CLASS];
  return { ...budget, requests: Math.floor(budget.requests / processes) };
}

/** `processes`: those of the server, itself among them. */
export function createBudgets(initial: BudgetTable = DEFAULT_BUDGETS, processes = 1): Budgets {
  let table = initial;
  let parts = 1;
  return {
    of(limitClass) {
      const budget = table[limitClass];
      if (processes > 1 && limitClass === WORKER_CLASS) {
        const others = (processes - 1) * workerBudget(table, processes).requests;
        return { ...budget, requests: budget.requests - others };
      }
      const isWhole = SHARED_CLASSES.has(limitClass) || HOST_CLASSES.has(limitClass);
      if (parts === 1 || isWhole) return budget;
      return { ...budget, requests: Math.max(1, Math.floor(budget.requests / parts)) };
    },
    table: () => table,
    replace(next) {
      table = next;
    },
    divide(servers) {
      parts = Math.max(1, servers);
    },
  };
}

export function isLimitClass(text: string): text is LimitClass {
  return LIMIT_CLASSES.some((limitClass) => limitClass === text);
}
