import type { NewOperator, OperatorChange, ResetEnds } from '@tidegate/protocol/operators-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { notValid, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { lostRight } from '../policies/author-rules.ts';
import { suspendPoliciesOf } from '../policies/end-policies.ts';
import { countFactors, type FactorCounts } from './codes/store.ts';
import { type Changer, type EndTokens, endAccess } from './end-access.ts';
import { readGroups, writeGroups } from './group-list.ts';
import { notify } from './notices/notices.ts';
import { demandSoundPassword } from './passwords/common-passwords.ts';
import { hasPassword } from './passwords/no-password.ts';
import type { Passwords } from './passwords/passwords.ts';
import {
  deleteOperator,
  findOperator,
  insertOperator,
  lockFleetAdmins,
  lockOperator,
  type OperatorRow,
  revokeOtherSessions,
  updateOperator,
} from './store.ts';

export interface ChangeDeps {
  platform: Platform;
  passwords: Passwords;
  endTokens: EndTokens;
}

export async function addOperator(
  platform: Platform,
  passwords: Passwords,
  { asked, by }: { asked: NewOperator; by: Changer },
): Promise<OperatorRow> {
  demandSoundPassword({ ...asked, hasSecondFactor: false }, '/password');
  const wanted = {
    id: platform.newId(),
    username: asked.username.toLowerCase(),
    password_hash: await passwords.hash(asked.password),
    role: asked.role,
    groups: writeGroups(asked.groups ?? null),
    created_at: platform.now(),
    disabled_at: null,
  };
  return platform.database.transact(async (tx) => {
    const row = await insertOperator(tx, wanted);
    if (!row) {
      throw new Refusal('conflict', { detail: 'An operator with this name exists already.' });
    }
    const content = { change: 'created', role: row.role, groups: readGroups(row.groups) };
    await recordChange(tx, platform, { by, operator: row, content });
    return row;
  });
}

/**
 * A new password also ends factors, sessions and API tokens, except those in `keep`: whoever resets it may suspect a
 * thief. Disabling an operator ends the sessions.
 */
export async function changeOperator(
  { platform, passwords, endTokens }: ChangeDeps,
  { id, change, by }: { id: string; change: OperatorChange; by: Changer },
): Promise<OperatorRow> {
  const { keep = [] } = change;
  if (change.keep && change.password === undefined) throw keepsNothing();
  const passwordHash = change.password === undefined ? null : await passwords.hash(change.password);
  return platform.database.transact(async (tx) => {
    const admins = await lockFleetAdmins(tx);
    const before = await lockOperator(tx, id);
    if (!before) throw notFound();
    if (!hasPassword(before) && (change.role !== undefined || change.groups !== undefined)) {
      throw new Refusal('conflict', {
        detail: 'An identity provider decides the role and groups of this operator: change its mapping.',
      });
    }
    if (change.password !== undefined) {
      const hasSecondFactor = keepsFactor(await countFactors(tx, id), keep);
      demandSoundPassword(
        { password: change.password, username: before.username, hasSecondFactor },
        '/password',
      );
    }
    const after: OperatorRow = {
      ...before,
      password_hash: passwordHash ?? before.password_hash,
      role: change.role ?? before.role,
      groups: change.groups === undefined ? before.groups : writeGroups(change.groups),
      disabled_at: disabledAt(before, change, platform.now()),
    };
    if (!isFleetAdmin(after)) keepAnAdmin(admins, id);
    const { password_hash, role, groups, disabled_at } = after;
    await updateOperator(tx, before, { password_hash, role, groups, disabled_at });
    const lost = lostRight(after);
    if (lost) await suspendPoliciesOf(tx, platform, { authorId: id, reason: lost, actor: by.username });
    if (passwordHash !== null) {
      await notify(tx, platform, { operatorId: id, kind: 'password_reset', by });
      await endAccess(tx, platform, { operator: after, by, keep, endTokens });
    }
    if (disabled_at !== null) {
      await revokeOtherSessions(tx, { operatorId: id, keptSessionId: by.sessionId, nowMs: platform.now() });
    }
    if (role !== before.role || groups !== before.groups || isDisabled(after) !== isDisabled(before)) {
      await notify(tx, platform, { operatorId: id, kind: 'access_changed', by });
    }
    await recordChange(tx, platform, {
      by,
      operator: after,
      content: {
        change: 'changed',
        role: { before: before.role, after: role },
        groups: { before: readGroups(before.groups), after: readGroups(groups) },
        disabled: { before: isDisabled(before), after: isDisabled(after) },
        password_changed: passwordHash !== null,
        ...(passwordHash === null ? {} : { kept: keep }),
      },
    });
    return after;
  });
}

export async function removeOperator(
  platform: Platform,
  { id, by, endTokens }: { id: string; by: Changer; endTokens: EndTokens },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const admins = await lockFleetAdmins(tx);
    const operator = await findOperator(tx, id);
    if (!operator) throw notFound();
    keepAnAdmin(admins, id);
    const atMs = platform.now();
    await deleteOperator(tx, { id, atMs });
    await suspendPoliciesOf(tx, platform, { authorId: id, reason: 'author_deleted', actor: by.username });
    const tokensRevoked = await endTokens(tx, { operatorId: id, atMs });
    const content = { change: 'deleted', role: operator.role, api_tokens_revoked: tokensRevoked };
    await recordChange(tx, platform, { by, operator, content });
  });
}

function keepsFactor({ totp, passkeys }: FactorCounts, keep: readonly ResetEnds[]): boolean {
  return (totp && keep.includes('totp')) || (passkeys > 0 && keep.includes('passkeys'));
}

function isDisabled(row: OperatorRow): boolean {
  return row.disabled_at !== null;
}

function disabledAt(before: OperatorRow, change: OperatorChange, nowMs: number): number | null {
  if (change.disabled === undefined) return before.disabled_at;
  // An admin's word outlasts that of an identity provider, which enables again only what it disabled itself.
  return change.disabled ? nowMs : null;
}

/**
 * An admin who is bound to groups cannot change operators, and so could not make another admin. One without a password
 * depends on an identity provider.
 */
function isFleetAdmin(row: OperatorRow): boolean {
  return row.role === 'admin' && row.disabled_at === null && row.groups === null && hasPassword(row);
}

/** Without an admin nobody could make one again: the set-up link stays dead while any operator exists. */
export function keepAnAdmin(admins: readonly string[], leavingId: string): void {
  if (admins.some((id) => id !== leavingId)) return;
  throw new Refusal('conflict', { detail: 'This is the last admin of the whole fleet with a password.' });
}

async function recordChange(
  tx: Tx,
  platform: Platform,
  act: { by: Changer; operator: OperatorRow; content: Readonly<Record<string, unknown>> },
): Promise<void> {
  const { by, operator, content } = act;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'OPERATOR_CHANGED',
    severity: 'warning',
    component: 'operators',
    actor: by.username,
    content: { operator_id: operator.id, username: operator.username, ...content },
  });
}

function keepsNothing(): Refusal {
  return notValid([{ path: '/keep', message: 'allowed only together with a new password' }]);
}

function notFound(): Refusal {
  return new Refusal('not_found', { detail: 'There is no such operator.' });
}
