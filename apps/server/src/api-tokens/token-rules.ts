import type { ApiScope } from '@tidegate/protocol/api-tokens-api';
import type { GroupScope } from '../platform/db/group-scope.ts';
import { type OperatorRole, roleIncludes } from '../platform/http/identities.ts';

export interface TokenFacts {
  readonly role: OperatorRole;
  readonly groups: GroupScope;
  readonly expiresAtMs: number;
  readonly isRevoked: boolean;
}

/** The creator of the token, as of now. */
export interface MakerFacts {
  readonly role: OperatorRole;
  readonly groups: GroupScope;
  readonly isDisabled: boolean;
}

export type TokenVerdict =
  | { readonly state: 'active'; readonly groups: GroupScope }
  | { readonly state: 'expired' | 'revoked' | 'suspended' };

/**
 * What a token may do now, never more than its creator: it is dead while that operator is deleted (null), disabled or of
 * a lower role, and sees only the groups that both have.
 */
export function judgeToken(token: TokenFacts, maker: MakerFacts | null, nowMs: number): TokenVerdict {
  if (token.isRevoked) return { state: 'revoked' };
  if (nowMs >= token.expiresAtMs) return { state: 'expired' };
  if (!maker || maker.isDisabled || !roleIncludes(maker.role, token.role)) return { state: 'suspended' };
  return { state: 'active', groups: commonGroups(token.groups, maker.groups) };
}

function commonGroups(a: GroupScope, b: GroupScope): GroupScope {
  if (a === null) return b;
  return b === null ? a : a.filter((group) => b.includes(group));
}

/** Those of these scopes that the role can never use: granting them would promise what is refused. */
export function scopesBeyond(role: OperatorRole, scopes: readonly ApiScope[]): ApiScope[] {
  return scopes.filter((scope) => !roleIncludes(role, NEEDED[scope]));
}

const NEEDED: Readonly<Record<ApiScope, OperatorRole>> = {
  read: 'viewer',
  approve: 'approver',
  override: 'approver',
  // Approvers may request scans.
  hosts: 'approver',
  admin: 'admin',
};
