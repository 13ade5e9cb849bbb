import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { LimitClass } from '../platform/http/access.ts';
import type { Budget } from './budgets.ts';

/** The classes that an operator has set; the others have their default. */
export async function readLimits(db: Db): Promise<Tables['rate_limits'][]> {
  return db.selectFrom('rate_limits').selectAll().execute();
}

export async function writeLimit(
  tx: Tx,
  { limitClass, budget, nowMs }: { limitClass: LimitClass; budget: Budget; nowMs: number },
): Promise<void> {
  const values = {
    requests: budget.requests,
    window_seconds: budget.windowSeconds,
    enabled: budget.enabled ? 1 : 0,
    updated_at: nowMs,
  };
  await tx
    .insertInto('rate_limits')
    .values({ class: limitClass, ...values })
    .onConflict((conflict) => conflict.column('class').doUpdateSet(values))
    .execute();
}

export async function deleteLimits(tx: Tx): Promise<void> {
  await tx.deleteFrom('rate_limits').execute();
}
