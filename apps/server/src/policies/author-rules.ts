import type { PolicyRequest } from '@tidegate/protocol/policies-api';
import { type OperatorRole, roleIncludes } from '../platform/http/identities.ts';
import type { LostRight } from './end-policies.ts';

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

/** A policy reboots nothing that its author may not reboot: that takes an admin. */
export function rebootFault(
  { reboot }: Pick<PolicyRequest, 'reboot'>,
  { role }: Pick<PossibleAuthor, 'role'>,
): { path: string; message: string } | null {
  if (reboot === undefined || reboot.when === 'never' || roleIncludes(role, 'admin')) return null;
  return { path: '/reboot', message: 'takes an admin as the author of the policy' };
}
