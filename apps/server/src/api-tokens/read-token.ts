import { API_SCOPES, type ApiScope, type ApiTokenItem } from '@tidegate/protocol/api-tokens-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { readGroups } from '../operators/group-list.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { MadeToken } from './store.ts';
import { judgeToken, type TokenVerdict } from './token-rules.ts';

const Scopes = Type.Array(Type.Enum(API_SCOPES));

/** Judges the token and its creator as they are now. */
export function verdictOf(row: MadeToken, nowMs: number): TokenVerdict {
  const token = {
    role: row.role,
    groups: readGroups(row.groups),
    expiresAtMs: row.expires_at,
    isRevoked: row.revoked_at !== null,
  };
  const maker =
    row.maker_role === null
      ? null
      : {
          role: row.maker_role,
          groups: readGroups(row.maker_groups),
          isDisabled: row.maker_disabled_at !== null,
        };
  return judgeToken(token, maker, nowMs);
}

/** Reads the column `scopes`; throws on anything else, so that nothing opens more than intended. */
export function readScopes(column: string | null): readonly ApiScope[] | null {
  return column === null ? null : Value.Parse(Scopes, JSON.parse(column));
}

/** A token as the API shows it: never with the hash of its secret. */
export function tokenView(row: MadeToken, nowMs: number): ApiTokenItem {
  const { state } = verdictOf(row, nowMs);
  return {
    id: row.id,
    label: row.label,
    role: row.role,
    groups: listed(readGroups(row.groups)),
    scopes: listed(readScopes(row.scopes)),
    state: state === 'revoked' ? 'expired' : state,
    created_by: row.maker_name ?? row.created_by,
    created_at: rfc3339(row.created_at),
    expires_at: rfc3339(row.expires_at),
    last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  };
}

function listed<T>(values: readonly T[] | null): T[] | null {
  return values === null ? null : [...values];
}
