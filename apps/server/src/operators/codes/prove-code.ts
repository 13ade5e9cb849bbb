import type { FactorMethod } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../../events/append-event.ts';
import type { Tx } from '../../platform/db/engine.ts';
import type { Platform } from '../../platform/platform.ts';
import { openSecret } from '../../platform/seal-secret.ts';
import { notify } from '../notices/notices.ts';
import { hashRecoveryCode } from './recovery-codes.ts';
import { countFactors, countTotpFailure, lockTotp, useRecoveryCode, useTotpStep } from './store.ts';
import { blockedUntilMs, matchStep } from './totp-rules.ts';

export interface CodeDeps {
  platform: Platform;
  /** Seals the secrets of authenticator apps. */
  factorKey: Buffer;
}

/** A code that an operator typed in. */
export interface GivenCode {
  method: Exclude<FactorMethod, 'passkey'>;
  code: string;
}

export type CodeOutcome =
  | { ok: true }
  | { ok: false; reason: 'wrong' }
  | { ok: false; retryAfterSeconds: number };

/**
 * Uses up an operator's code: a TOTP step or a recovery code. The count of a wrong code must be stored too, so that
 * guessing stays limited: commit the transaction whatever the outcome.
 */
export async function proveCode(
  tx: Tx,
  deps: CodeDeps,
  {
    operator,
    given,
    address,
  }: { operator: { id: string; username: string }; given: GivenCode; address: string },
): Promise<CodeOutcome> {
  switch (given.method) {
    case 'totp':
      return proveTotp(tx, deps, { operatorId: operator.id, code: given.code });
    case 'recovery_code':
      return proveRecoveryCode(tx, deps, { operator, code: given.code, address });
  }
}

async function proveTotp(
  tx: Tx,
  { platform, factorKey }: CodeDeps,
  { operatorId, code }: { operatorId: string; code: string },
): Promise<CodeOutcome> {
  const nowMs = platform.now();
  const row = await lockTotp(tx, operatorId);
  if (!row || row.confirmed_at === null) return WRONG;
  const blockedUntil = blockedUntilMs({ failures: row.failures, lastFailedAtMs: row.last_failed_at });
  if (blockedUntil > nowMs) {
    return { ok: false, retryAfterSeconds: Math.ceil((blockedUntil - nowMs) / 1_000) };
  }
  const secret = openSecret(row.sealed_secret, { key: factorKey, owner: operatorId });
  if (!secret) {
    platform.log.error('a second factor was sealed with another token secret', {
      operator_id: operatorId,
    });
    return WRONG;
  }
  const step = matchStep({ secret, code, nowMs });
  if (step !== null && (await useTotpStep(tx, { operatorId, step }))) return { ok: true };
  await countTotpFailure(tx, { operatorId, nowMs });
  return WRONG;
}

async function proveRecoveryCode(
  tx: Tx,
  { platform }: CodeDeps,
  { operator, code, address }: { operator: { id: string; username: string }; code: string; address: string },
): Promise<CodeOutcome> {
  const used = { operatorId: operator.id, hash: hashRecoveryCode(code), nowMs: platform.now() };
  if (!(await useRecoveryCode(tx, used))) return WRONG;
  const { recoveryCodesLeft } = await countFactors(tx, operator.id);
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'RECOVERY_CODE_USED',
    severity: 'warning',
    component: 'operators',
    actor: operator.username,
    content: { operator_id: operator.id, username: operator.username, left: recoveryCodesLeft },
  });
  const by = { username: operator.username, address };
  await notify(tx, platform, { operatorId: operator.id, kind: 'recovery_code_used', by });
  return { ok: true };
}

const WRONG = { ok: false, reason: 'wrong' } as const;
