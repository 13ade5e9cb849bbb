import type { Grant } from '@tidegate/protocol/identity-providers-api';
import { appendEvent } from '../events/append-event.ts';
import type { EndTokens } from '../operators/end-access.ts';
import { readGroups, writeGroups } from '../operators/group-list.ts';
import { recordIdentity } from '../operators/identities/bind-identity.ts';
import { type Account, type IdentityRow, updateIdentity } from '../operators/identities/store.ts';
import { notify } from '../operators/notices/notices.ts';
import { hasPassword } from '../operators/passwords/no-password.ts';
import { lockOperator, type OperatorRow, revokeOtherSessions, updateOperator } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { lostRight } from '../policies/author-rules.ts';
import { suspendPoliciesOf } from '../policies/end-policies.ts';

export type Applied =
  | { kind: 'granted'; operator: OperatorRow }
  /** No rule matches the account, and there is no default. */
  | { kind: 'no_access' }
  | { kind: 'disabled' };

export interface Asked {
  identity: IdentityRow;
  grant: Grant | null;
  /** Of the request. */
  address: string;
  endTokens: EndTokens;
}

/**
 * Gives an operator without a password the role and groups of this sign-in, or takes all access away. An operator with a
 * password keeps what admins have set, and needs a match all the same.
 */
export async function applyGrant(tx: Tx, platform: Platform, asked: Asked): Promise<Applied> {
  const { identity, grant, address } = asked;
  const operator = await lockOperator(tx, identity.operator_id);
  if (!operator) return { kind: 'disabled' };
  const isLocal = hasPassword(operator);
  if (grant === null) {
    if (!isLocal && operator.disabled_at === null) await takeAccess(tx, platform, { ...asked, operator });
    return { kind: 'no_access' };
  }
  const wasLost = operator.disabled_at !== null && operator.disabled_at === identity.lost_at;
  if (operator.disabled_at !== null && !wasLost) return { kind: 'disabled' };
  if (isLocal) return { kind: 'granted', operator };
  const { role } = grant;
  const groups = writeGroups(grant.groups);
  if (!wasLost && role === operator.role && groups === operator.groups) return { kind: 'granted', operator };
  const after = await updateOperator(tx, operator, { role, groups, disabled_at: null });
  const actor = actorOf(identity.provider_id);
  const lost = lostRight(after);
  if (lost) await suspendPoliciesOf(tx, platform, { authorId: after.id, reason: lost, actor });
  if (wasLost) {
    await updateIdentity(tx, identity, { lost_at: null });
    await recordIdentity(tx, platform, {
      change: 'access_regained',
      operator,
      account: accountOf(identity),
      actor,
    });
  }
  await recordGrant(tx, platform, { before: operator, after, actor });
  await notify(tx, platform, {
    operatorId: after.id,
    kind: 'access_changed',
    by: { username: actor, address },
  });
  return { kind: 'granted', operator: after };
}

/** The actor of what a provider decides. */
export function actorOf(providerId: string): string {
  return `provider ${providerId}`;
}

async function takeAccess(
  tx: Tx,
  platform: Platform,
  { identity, operator, address, endTokens }: Asked & { operator: OperatorRow },
): Promise<void> {
  const nowMs = platform.now();
  const actor = actorOf(identity.provider_id);
  await updateOperator(tx, operator, { disabled_at: nowMs });
  await updateIdentity(tx, identity, { lost_at: nowMs });
  await revokeOtherSessions(tx, { operatorId: operator.id, keptSessionId: '', nowMs });
  await endTokens(tx, { operatorId: operator.id, atMs: nowMs });
  await suspendPoliciesOf(tx, platform, { authorId: operator.id, reason: 'author_disabled', actor });
  await recordIdentity(tx, platform, {
    change: 'access_lost',
    operator,
    account: accountOf(identity),
    actor,
  });
  const by = { username: actor, address };
  await notify(tx, platform, { operatorId: operator.id, kind: 'access_changed', by });
}

function accountOf({ provider_id: providerId, issuer, subject }: IdentityRow): Account {
  return { providerId, issuer, subject };
}

async function recordGrant(
  tx: Tx,
  platform: Platform,
  { before, after, actor }: { before: OperatorRow; after: OperatorRow; actor: string },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'OPERATOR_CHANGED',
    severity: 'warning',
    component: 'operators',
    actor,
    content: {
      ...{ change: 'changed', operator_id: after.id, username: after.username },
      role: { before: before.role, after: after.role },
      groups: { before: readGroups(before.groups), after: readGroups(after.groups) },
      disabled: { before: before.disabled_at !== null, after: false },
      password_changed: false,
    },
  });
}
