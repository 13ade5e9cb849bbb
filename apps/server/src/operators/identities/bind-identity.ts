import { appendEvent } from '../../events/append-event.ts';
import type { Tx } from '../../platform/db/engine.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import { keepAnAdmin } from '../change-operators.ts';
import type { Changer } from '../end-access.ts';
import { type NoticeBy, notify } from '../notices/notices.ts';
import { hasPassword, NO_PASSWORD } from '../passwords/no-password.ts';
import {
  lockFleetAdmins,
  lockOperator,
  type OperatorRow,
  revokeOtherSessions,
  updateOperator,
} from '../store.ts';
import {
  type Account,
  deleteIdentity,
  endProviderSessions,
  type IdentityRow,
  insertIdentity,
  listIdentities,
} from './store.ts';

/** Accounts of one operator. */
const IDENTITIES_MAX = 10;

/** From now on this account logs the operator in. Refuses an account that logs somebody in already. */
export async function bindIdentity(
  tx: Tx,
  platform: Platform,
  {
    operator,
    account,
    by,
  }: { operator: Pick<OperatorRow, 'id' | 'username'>; account: Account; by: NoticeBy },
): Promise<IdentityRow> {
  if ((await listIdentities(tx, operator.id)).length >= IDENTITIES_MAX) {
    throw new Refusal('conflict', { detail: `An operator has at most ${IDENTITIES_MAX} accounts.` });
  }
  const { providerId, issuer, subject } = account;
  const row = await insertIdentity(tx, {
    id: platform.newId(),
    operator_id: operator.id,
    provider_id: providerId,
    ...{ issuer, subject },
    created_by: by.username,
    created_at: platform.now(),
    last_used_at: null,
    lost_at: null,
  });
  if (!row)
    throw new Refusal('conflict', { detail: 'This account logs in another operator, or this one already.' });
  await recordIdentity(tx, platform, { change: 'bound', operator, account, actor: by.username });
  await notify(tx, platform, { operatorId: operator.id, kind: 'identity_bound', subject: providerId, by });
  return row;
}

/** The account logs the operator in no longer, and the sessions that it opened end. */
export async function unbindIdentity(
  platform: Platform,
  { id, operatorId, by }: { id: string; operatorId: string; by: Changer },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const operator = await lockOperator(tx, operatorId);
    const row = operator && (await deleteIdentity(tx, { id, operatorId }));
    if (!row) throw noSuch('account of this operator');
    const isLast = (await listIdentities(tx, operatorId)).length === 0;
    if (isLast && !hasPassword(operator)) {
      throw new Refusal('conflict', {
        detail: 'Nothing else logs this operator in: set a password first, or delete the operator.',
      });
    }
    const account = { providerId: row.provider_id, issuer: row.issuer, subject: row.subject };
    await endProviderSessions(tx, { ...account, nowMs: platform.now() });
    await recordIdentity(tx, platform, { change: 'unbound', operator, account, actor: by.username });
    await notify(tx, platform, { operatorId, kind: 'identity_unbound', subject: row.provider_id, by });
  });
}

/**
 * Removes the password of an operator with an account: from now on the provider alone logs the operator in, and decides
 * role and groups at each sign-in. Never the last admin of the fleet with a password.
 */
export async function removePassword(
  platform: Platform,
  { id, by }: { id: string; by: Changer },
): Promise<OperatorRow> {
  return platform.database.transact(async (tx) => {
    const admins = await lockFleetAdmins(tx);
    const before = await lockOperator(tx, id);
    if (!before) throw noSuch('operator');
    if (!hasPassword(before)) throw new Refusal('conflict', { detail: 'This operator has no password.' });
    if ((await listIdentities(tx, id)).length === 0) {
      throw new Refusal('conflict', { detail: 'Bind an account of an identity provider first.' });
    }
    keepAnAdmin(admins, id);
    const after = await updateOperator(tx, before, { password_hash: NO_PASSWORD });
    await revokeOtherSessions(tx, { operatorId: id, keptSessionId: by.sessionId, nowMs: platform.now() });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'OPERATOR_CHANGED',
      severity: 'warning',
      component: 'operators',
      actor: by.username,
      content: { change: 'password_removed', operator_id: id, username: before.username },
    });
    await notify(tx, platform, { operatorId: id, kind: 'access_changed', by });
    return after;
  });
}

export async function recordIdentity(
  tx: Tx,
  platform: Platform,
  {
    change,
    operator,
    account,
    actor,
  }: {
    change: 'bound' | 'unbound' | 'access_lost' | 'access_regained';
    operator: Pick<OperatorRow, 'id' | 'username'>;
    account: Account;
    actor: string;
  },
): Promise<void> {
  const { providerId, issuer, subject } = account;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'IDENTITY_CHANGED',
    severity: 'warning',
    component: 'operators',
    actor,
    content: {
      ...{ change, operator_id: operator.id, username: operator.username },
      ...{ provider: providerId, issuer, subject },
    },
  });
}
