import type { StepUpMethod } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { hashRecoveryCode, makeRecoveryCodes } from './codes/recovery-codes.ts';
import { countFactors, deleteRecoveryCodes, replaceRecoveryCodes } from './codes/store.ts';
import { methodsOf } from './factor-refusals.ts';
import { notifySelf } from './notices/notices.ts';
import { hasPassword } from './passwords/no-password.ts';
import { PASSWORD_MIN_ALONE } from './passwords/password-rules.ts';
import { isPasswordLong, lockLiveSession, markProven } from './sessions/store.ts';
import { findOperator, revokeOtherSessions } from './store.ts';

export type FactorOwner = Pick<OperatorCaller, 'operatorId' | 'username' | 'sessionId' | 'address'>;

/** What events and notices say about a factor; never the factor itself. */
export interface FactorNote {
  factor: 'totp' | 'passkey' | 'recovery_codes';
  passkey_id?: string;
  name?: string;
}

/** A factor was proven and is in use: the session counts as stepped up, and the other sessions end. */
export async function factorAdded(
  tx: Tx,
  platform: Platform,
  { owner, note }: { owner: FactorOwner; note: FactorNote },
): Promise<void> {
  const proven = { second_factor_at: platform.now() };
  if (!(await markProven(tx, { id: owner.sessionId, proven }))) throw sessionEnded();
  await endOthers(tx, platform, owner);
  await recordFactor(tx, platform, { type: 'FACTOR_ADDED', owner, note });
}

/** Removing the last factor also removes the recovery codes. */
export async function factorRemoved(
  tx: Tx,
  platform: Platform,
  { owner, note }: { owner: FactorOwner; note: FactorNote },
): Promise<void> {
  await demandLiveSession(tx, owner);
  if (methodsOf(await countFactors(tx, owner.operatorId)).length === 0) {
    await demandLongPassword(tx, owner);
    await deleteRecoveryCodes(tx, owner.operatorId);
  }
  await endOthers(tx, platform, owner);
  await recordFactor(tx, platform, { type: 'FACTOR_REMOVED', owner, note });
}

/** Replaces all recovery codes with ten new ones, which are shown only now. */
export async function issueRecoveryCodes(tx: Tx, platform: Platform, operatorId: string): Promise<string[]> {
  const codes = makeRecoveryCodes(platform.random);
  const hashes = codes.map(hashRecoveryCode);
  await replaceRecoveryCodes(tx, { operatorId, hashes, nowMs: platform.now() });
  return codes;
}

/** Replaces the caller's own recovery codes; requires a second factor. */
export async function renewRecoveryCodes(platform: Platform, owner: FactorOwner): Promise<string[]> {
  return platform.database.transact(async (tx) => {
    if (methodsOf(await countFactors(tx, owner.operatorId)).length === 0) {
      throw new Refusal('conflict', {
        detail: 'You have no second factor, and recovery codes only replace one.',
      });
    }
    await demandLiveSession(tx, owner);
    const codes = await issueRecoveryCodes(tx, platform, owner.operatorId);
    await recordFactor(tx, platform, { type: 'FACTOR_ADDED', owner, note: { factor: 'recovery_codes' } });
    return codes;
  });
}

async function recordFactor(
  tx: Tx,
  platform: Platform,
  act: { type: 'FACTOR_ADDED' | 'FACTOR_REMOVED'; owner: FactorOwner; note: FactorNote },
): Promise<void> {
  const { type, owner, note } = act;
  await appendEvent(tx, platform, {
    kind: 'security',
    type,
    severity: type === 'FACTOR_REMOVED' ? 'warning' : 'info',
    component: 'operators',
    actor: owner.username,
    content: { operator_id: owner.operatorId, username: owner.username, address: owner.address, ...note },
  });
  const kind = NOTICES[note.factor][type];
  await notifySelf(tx, platform, {
    caller: owner,
    kind,
    ...(note.name === undefined ? {} : { subject: note.name }),
  });
}

const NOTICES = {
  totp: { FACTOR_ADDED: 'totp_added', FACTOR_REMOVED: 'totp_removed' },
  passkey: { FACTOR_ADDED: 'passkey_added', FACTOR_REMOVED: 'passkey_removed' },
  recovery_codes: { FACTOR_ADDED: 'recovery_codes_made', FACTOR_REMOVED: 'recovery_codes_made' },
} as const;

/** After the last factor is removed, the password alone must be long enough. */
async function demandLongPassword(tx: Tx, { operatorId, sessionId }: FactorOwner): Promise<void> {
  const operator = await findOperator(tx, operatorId);
  if (operator && !hasPassword(operator)) return;
  const isLong = await isPasswordLong(tx, sessionId);
  if (isLong) return;
  if (isLong === null) {
    throw new Refusal('step_up_required', {
      detail: 'This needs your password: without the last factor it alone protects the account.',
      extra: { methods: ['password'] satisfies StepUpMethod[] },
    });
  }
  throw new Refusal('conflict', {
    detail: `An account without a second factor needs a password of ${PASSWORD_MIN_ALONE} characters or more: change it first.`,
  });
}

/** A session that ended during its request creates nothing. */
export async function demandLiveSession(
  tx: Tx,
  { sessionId }: Pick<OperatorCaller, 'sessionId'>,
): Promise<void> {
  if (!(await lockLiveSession(tx, sessionId))) throw sessionEnded();
}

function sessionEnded(): Refusal {
  return new Refusal('access_token_invalid', { detail: 'This session has ended.' });
}

async function endOthers(tx: Tx, platform: Platform, owner: FactorOwner): Promise<void> {
  const { operatorId, sessionId } = owner;
  await revokeOtherSessions(tx, { operatorId, keptSessionId: sessionId, nowMs: platform.now() });
}
