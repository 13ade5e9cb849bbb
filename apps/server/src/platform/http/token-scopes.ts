import type { ApiScope } from '@tidegate/protocol/api-tokens-api';
import type { CallerToken, OperatorAccess, OperatorCaller } from './access.ts';
import { Refusal } from './refusal.ts';

/**
 * The scope that an API token needs for a route; null: tokens are refused. Without a declared scope it
 * follows from the role; routes about the caller's own account, and changes that viewers make, are refused to
 * tokens.
 */
export function scopeNeeded(access: OperatorAccess, method: string): ApiScope | null {
  if (access.scope !== undefined) return access.scope;
  if (access.reach === 'none') return null;
  switch (access.role) {
    case 'viewer':
      return method === 'GET' ? 'read' : null;
    case 'approver':
      return 'approve';
    case 'admin':
      return 'admin';
  }
}

/** Throws a Refusal when the token lacks the scope. People who have logged in pass. */
export function demandScope(
  { token }: Pick<OperatorCaller, 'token'>,
  { access, method }: { access: OperatorAccess; method: string },
): void {
  if (!token) return;
  const needed = scopeNeeded(access, method);
  if (needed === null) {
    throw new Refusal('forbidden', { detail: 'API tokens cannot do this; log in with a password.' });
  }
  if (opens(token.scopes, needed)) return;
  throw new Refusal('forbidden', {
    detail: `This requires the scope ${needed}; this API token has ${token.scopes?.join(', ') ?? 'none'}.`,
  });
}

/** A token without scopes may do everything that its role may, except overrides of the gate. */
function opens(scopes: CallerToken['scopes'], needed: ApiScope): boolean {
  return scopes === null ? needed !== 'override' : scopes.includes(needed);
}

/** The role alone lets a person override the gate; a token also needs the scope `override`. */
export function demandOverride({ token }: Pick<OperatorCaller, 'token'>): void {
  if (!token || opens(token.scopes, 'override')) return;
  throw new Refusal('forbidden', { detail: 'An API token needs the scope override to override the gate.' });
}
