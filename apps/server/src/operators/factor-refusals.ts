import type { FactorMethod } from '@tidegate/protocol/factors-api';
import { Refusal } from '../platform/http/refusal.ts';
import type { CodeOutcome } from './codes/prove-code.ts';
import type { FactorCounts } from './codes/store.ts';
import type { ProofFault } from './passkeys/prove-passkey.ts';

/** What an operator can prove beside the password. Recovery codes replace a factor; alone they are none. */
export function methodsOf({ totp, passkeys, recoveryCodesLeft }: FactorCounts): FactorMethod[] {
  const factors: FactorMethod[] = [
    ...(totp ? ['totp' as const] : []),
    ...(passkeys > 0 ? ['passkey' as const] : []),
  ];
  return factors.length > 0 && recoveryCodesLeft > 0 ? [...factors, 'recovery_code'] : factors;
}

/** A wrong code, or one that was not checked because of earlier wrong ones. */
export function wrongCode(
  code: 'second_factor_required' | 'step_up_required',
  { outcome, methods }: { outcome: Exclude<CodeOutcome, { ok: true }>; methods: readonly FactorMethod[] },
): Refusal {
  if ('retryAfterSeconds' in outcome) {
    return new Refusal('rate_limited', {
      detail: 'Too many wrong codes: wait for the time in Retry-After, or use another method.',
      retryAfterSeconds: outcome.retryAfterSeconds,
      extra: { methods },
    });
  }
  return new Refusal(code, {
    detail: 'The code is wrong, too old, or already used.',
    extra: { methods },
  });
}

/** An unknown passkey and a wrong signature give the same words. */
export function passkeyFault(reason: ProofFault): string {
  switch (reason) {
    case 'challenge':
      return 'This took longer than five minutes, or was already answered: start again.';
    case 'origin':
      return 'The passkey was used at another address than this server has (SERVICE_BASE_URL, or the host of the request).';
    case 'refused':
    case 'cloned':
      return 'The passkey was not accepted.';
  }
}
