import type { FactorMethod } from '@tidegate/protocol/factors-api';
import { Refusal } from '../platform/http/refusal.ts';
import type { CodeOutcome } from './codes/prove-code.ts';
import type { FactorCounts } from './codes/store.ts';
import type { ProofFault } from './passkeys/prove-passkey.ts';

/** What an operator can prove beside the password; recovery codes stand in for a factor, and are none by themselves. */
export function methodsOf({ totp, passkeys, recoveryCodesLeft }: FactorCounts): FactorMethod[] {
  const factors: FactorMethod[] = [
    ...(totp ? ['totp' as const] : []),
    ...(passkeys > 0 ? ['passkey' as const] : []),
  ];
  return factors.length > 0 && recoveryCodesLeft > 0 ? [...factors, 'recovery_code'] : factors;
}

/** A code that is wrong, or that nobody looks at for now. */
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
    detail: 'The code is wrong, too old, or was used already.',
    extra: { methods },
  });
}

/** The same words for a passkey that is unknown and for one that signed wrongly. */
export function passkeyFault(reason: ProofFault): string {
  switch (reason) {
    case 'challenge':
      return 'This took longer than five minutes, or was answered already: begin again.';
    case 'origin':
      return 'The passkey was used at another address than the one of this server (SERVICE_BASE_URL, or the host of the request).';
    case 'refused':
    case 'cloned':
      return 'The passkey was not accepted.';
  }
}
