import type { TotpEnrolment } from '@tidegate/protocol/factors-api';
import { Refusal } from '../../platform/http/refusal.ts';
import { openSecret, sealSecret } from '../../platform/seal-secret.ts';
import { type FactorOwner, factorAdded, factorRemoved, issueRecoveryCodes } from '../record-factor.ts';
import type { CodeDeps } from './prove-code.ts';
import { beginTotp, confirmTotp, deleteTotp, findTotp } from './store.ts';
import { describeTotp, matchStep, TOTP_SECRET_BYTES } from './totp-rules.ts';

/** How long a new secret waits for its first code, in milliseconds. */
const CONFIRM_WITHIN_MS = 900_000;
const NOTE = { factor: 'totp' } as const;

/** A new secret. It is shown only now, and has no effect until a code of it is confirmed. */
export async function beginTotpEnrolment(
  { platform, factorKey }: CodeDeps,
  owner: FactorOwner,
): Promise<TotpEnrolment> {
  const { operatorId, username } = owner;
  const secret = platform.random(TOTP_SECRET_BYTES);
  const sealed = sealSecret(secret, { key: factorKey, owner: operatorId, random: platform.random });
  const isBegun = await platform.database.transact((tx) =>
    beginTotp(tx, {
      operator_id: operatorId,
      sealed_secret: sealed,
      created_at: platform.now(),
      confirmed_at: null,
      last_step: 0,
      failures: 0,
      last_failed_at: null,
    }),
  );
  if (!isBegun) throw new Refusal('conflict', { detail: 'You have an authenticator app: remove it first.' });
  const { base32, uri } = describeTotp({ secret, username });
  return { secret: base32, otpauth_uri: uri };
}

/** The first code turns the app on and creates ten recovery codes. */
export async function confirmTotpEnrolment(
  { platform, factorKey }: CodeDeps,
  { owner, code }: { owner: FactorOwner; code: string },
): Promise<string[]> {
  const { operatorId } = owner;
  const nowMs = platform.now();
  return platform.database.transact(async (tx) => {
    const row = await findTotp(tx, operatorId);
    if (!row || row.confirmed_at !== null || nowMs - row.created_at > CONFIRM_WITHIN_MS) throw notBegun();
    const secret = openSecret(row.sealed_secret, { key: factorKey, owner: operatorId });
    const step = secret && matchStep({ secret, code, nowMs });
    if (step === null) {
      const errors = [{ path: '/code', message: 'is not the code that the app shows now' }];
      throw new Refusal('invalid_request', { detail: 'The code does not match the secret.', errors });
    }
    if (!(await confirmTotp(tx, { row, step, nowMs }))) throw notBegun();
    const codes = await issueRecoveryCodes(tx, platform, operatorId);
    await factorAdded(tx, platform, { owner, note: NOTE });
    return codes;
  });
}

export async function removeTotp({ platform }: CodeDeps, owner: FactorOwner): Promise<void> {
  await platform.database.transact(async (tx) => {
    if (!(await deleteTotp(tx, owner.operatorId))) {
      throw new Refusal('not_found', { detail: 'You have no authenticator app.' });
    }
    await factorRemoved(tx, platform, { owner, note: NOTE });
  });
}

function notBegun(): Refusal {
  return new Refusal('conflict', { detail: 'No authenticator app is being set up: start again.' });
}
