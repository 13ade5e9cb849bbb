import { SECOND_FACTORS, type SecondFactor } from '@tidegate/protocol/factors-api';
import type { Operator, OperatorIdentity } from '@tidegate/protocol/operators-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorRole } from '../platform/http/identities.ts';
import { factorsOf } from './codes/store.ts';
import { readGroups } from './group-list.ts';
import { hasPassword } from './passwords/no-password.ts';
import type { OperatorRow } from './store.ts';

/** Operators as the API shows them: never with the password hash. */
export async function operatorViews(db: Db, rows: readonly OperatorRow[]): Promise<Operator[]> {
  const factors = await factorsOf(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => viewOf(row, factors.get(row.id) ?? []));
}

/** Like `operatorViews`, for one. */
export async function operatorView(db: Db, row: OperatorRow): Promise<Operator> {
  return viewOf(row, (await factorsOf(db, [row.id])).get(row.id) ?? []);
}

function viewOf(row: OperatorRow, factors: readonly SecondFactor[]): Operator {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    groups: listed(readGroups(row.groups)),
    disabled: row.disabled_at !== null,
    second_factors: SECOND_FACTORS.filter((factor) => factors.includes(factor)),
    has_password: hasPassword(row),
    created_at: rfc3339(row.created_at),
  };
}

/** The logged-in operator, as the console shows it. */
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
