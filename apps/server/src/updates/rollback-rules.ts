import type { Plan, PlanFault } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';

/**
 * The faults of a plan for a rollback: it may do nothing but what the rollback is to undo. What is undone already may be
 * missing.
 */
export function rollbackFaults(
  { actions }: Pick<Plan, 'actions'>,
  undo: readonly RollbackAction[] | null,
): PlanFault[] {
  const allowed = new Set((undo ?? []).map(keyOf));
  return actions.flatMap((action, index) =>
    allowed.has(keyOf(action))
      ? []
      : [{ path: `/actions/${index}`, message: `${action.name} is not part of what the rollback undoes` }],
  );
}

function keyOf({ action, name, arch, from_version: from, to_version: to }: RollbackAction): string {
  return JSON.stringify([action, name, arch ?? null, from ?? null, to ?? null]);
}
