import type { FactorMethod, PasskeyOptions, StepUpMethod } from '@tidegate/protocol/factors-api';

const METHODS: readonly FactorMethod[] = ['passkey', 'totp', 'recovery_code'];

/** The factors that a refusal names, in the order in which they are offered. */
export function methodsIn(members: Readonly<Record<string, unknown>> | null): readonly FactorMethod[] {
  const named: unknown = members?.methods;
  return METHODS.filter((method) => Array.isArray(named) && named.includes(method));
}

const PROOFS: readonly StepUpMethod[] = ['password', ...METHODS, 'provider'];

/** The same for a step-up, which may also take the password, or a sign-in at the identity provider. */
export function proofsIn(members: Readonly<Record<string, unknown>> | null): readonly StepUpMethod[] {
  const named: unknown = members?.methods;
  return PROOFS.filter((method) => Array.isArray(named) && named.includes(method));
}

/** The passkey challenge in a refusal; null without one. */
export function passkeyIn(members: Readonly<Record<string, unknown>> | null): PasskeyOptions | null {
  const offered: unknown = members?.passkey;
  if (typeof offered !== 'object' || offered === null) return null;
  if (!('challenge_id' in offered) || !('options' in offered)) return null;
  const { challenge_id, options } = offered;
  if (typeof challenge_id !== 'string' || typeof options !== 'object' || options === null) return null;
  return { challenge_id, options };
}

/** How many seconds a refusal asks to wait; 0 if it does not. */
export function waitIn(members: Readonly<Record<string, unknown>> | null): number {
  const named: unknown = members?.retry_after_seconds;
  return typeof named === 'number' && named > 0 ? Math.ceil(named) : 0;
}
