import type { ApiScope } from '@tidegate/protocol/api-tokens-api';
import type { CallerToken, OperatorAccess, OperatorCaller } from './access.ts';
import { Refusal } from './refusal.ts';

/**
 * The scope that a token needs for a route; null: people alone, who log in. A route may name it; else it follows from
 * the role, and what concerns the caller itself, or what a viewer changes, is for people.
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

/** Refuses a token what it was not made for; who has logged in passes. */
export function demandScope(
  { token }: Pick<OperatorCaller, 'token'>,
  { access, method }: { access: OperatorAccess; method: string },
): void {
  if (!token) return;
  const needed = scopeNeeded(access, method);
  if (needed === null) {
    throw new Refusal('forbidden', { detail: 'No API token may do this: log in with a password.' });
  }
  if (opens(token.scopes, needed)) return;
  throw new Refusal('forbidden', {
    detail: `This takes the scope ${needed}; this API token has ${token.scopes?.join(', ') ?? 'none'}.`,
  });
}

/** Without scopes a token does all that its role may, but for what passes a block of the gate. */
function opens(scopes: CallerToken['scopes'], needed: ApiScope): boolean {
  return scopes === null ? needed !== 'override' : scopes.includes(needed);
}

/** A person overrides the gate by the role alone, a token only where it was made for that. */
export function demandOverride({ token }: Pick<OperatorCaller, 'token'>): void {
  if (!token || opens(token.scopes, 'override')) return;
  throw new Refusal('forbidden', { detail: 'An API token overrides the gate only with the scope override.' });
}
