import type { Operator, OperatorIdentity } from '@tidegate/protocol/operators-api';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorRole } from '../platform/http/identities.ts';
import { readGroups } from './group-list.ts';
import type { OperatorRow } from './store.ts';

/** What may be shown of an operator: never the hash of the password. */
export function operatorView(row: OperatorRow): Operator {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    groups: listed(readGroups(row.groups)),
    disabled: row.disabled_at !== null,
    created_at: rfc3339(row.created_at),
  };
}

/** Who is logged in, as the console shows it. */
export function identityView(caller: {
  id: string;
  username: string;
  role: OperatorRole;
  groups: GroupScope;
}): OperatorIdentity {
  return { id: caller.id, username: caller.username, role: caller.role, groups: listed(caller.groups) };
}

function listed(groups: GroupScope): string[] | null {
  return groups === null ? null : [...groups];
}
