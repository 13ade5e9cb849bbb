import type { Operator } from '@tidegate/protocol/operators-api';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorRow } from './store.ts';

/** What may be shown of an operator: never the hash of the password. */
export function operatorView(row: OperatorRow): Operator {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    disabled: row.disabled_at !== null,
    created_at: rfc3339(row.created_at),
  };
}
