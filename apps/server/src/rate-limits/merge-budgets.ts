import { LimitBudget, type LimitChange } from '@tidegate/protocol/rate-limits-api';
import { Value } from 'typebox/value';
import type { LimitClass } from '../platform/http/access.ts';
import type { FieldFault } from '../platform/http/refusal.ts';
import { type Budget, type BudgetTable, isLimitClass } from './budgets.ts';

/** Below this, an operator could lock everybody out of reverting it. */
export const ADMIN_OPERATIONS_MIN_PER_MINUTE = 10;

export type Merged =
  | { ok: true; table: BudgetTable; changed: LimitClass[] }
  | { ok: false; errors: FieldFault[] };

/** Merges a change into the budgets (E5): omitted members stay, within a class too. All or nothing. */
export function mergeBudgets(
  table: BudgetTable,
  changes: Readonly<Record<string, LimitChange | undefined>>,
): Merged {
  const merged: Record<LimitClass, Budget> = { ...table };
  const changed: LimitClass[] = [];
  const errors: FieldFault[] = [];
  for (const [name, change] of Object.entries(changes)) {
    const path = `/classes/${name}`;
    if (!isLimitClass(name)) {
      errors.push({ path, message: 'is not a rate-limit class' });
      continue;
    }
    const before = table[name];
    const after = {
      requests: change?.requests ?? before.requests,
      windowSeconds: change?.window_seconds ?? before.windowSeconds,
      enabled: change?.enabled ?? before.enabled,
    };
    if (!Value.Check(LimitBudget, wireBudget(after))) errors.push({ path, message: 'is out of bounds' });
    if (name === 'admin_operations' && perMinute(after) < ADMIN_OPERATIONS_MIN_PER_MINUTE) {
      errors.push({
        path,
        message: `must allow at least ${ADMIN_OPERATIONS_MIN_PER_MINUTE} requests a minute`,
      });
    }
    merged[name] = after;
    if (!isSame(before, after)) changed.push(name);
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, table: merged, changed };
}

export function wireBudget(budget: Budget): LimitBudget {
  return { requests: budget.requests, window_seconds: budget.windowSeconds, enabled: budget.enabled };
}

function perMinute(budget: Budget): number {
  return (budget.requests * 60) / budget.windowSeconds;
}

function isSame(a: Budget, b: Budget): boolean {
  return a.requests === b.requests && a.windowSeconds === b.windowSeconds && a.enabled === b.enabled;
}
