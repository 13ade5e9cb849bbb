import { type OperatorRole, roleIncludes } from '../platform/http/identities.ts';
import type { LostRight } from './end-policies.ts';
import { does, type FollowUps } from './window-actions.ts';

/** An operator, as far as it can stand behind a policy. */
export interface PossibleAuthor {
  readonly role: OperatorRole;
  /** JSON of the groups that the operator is bound to; null: the whole fleet. */
  readonly groups: string | null;
  readonly disabled_at: number | null;
}

/** Why an operator cannot stand behind a policy; null if it may approve for the whole fleet. */
export function lostRight(operator: PossibleAuthor | null): LostRight | null {
  if (!operator) return 'author_deleted';
  if (operator.disabled_at !== null) return 'author_disabled';
  if (!roleIncludes(operator.role, 'approver')) return 'author_demoted';
  return operator.groups === null ? null : 'author_bound';
}

/** A policy reboots and restarts nothing that its author may not: that takes an admin. */
export function followUpFault(
  policy: FollowUps,
  { role }: Pick<PossibleAuthor, 'role'>,
): { path: string; message: string } | null {
  if (roleIncludes(role, 'admin')) return null;
  const asked = (['reboot', 'restart_services'] as const).find((action) => does(policy, action));
  if (asked === undefined) return null;
  return { path: `/${asked}`, message: 'takes an admin as the author of the policy' };
}
