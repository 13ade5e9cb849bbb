import type { FactorMethod, PasskeyOptions, StepUpMethod } from '@tidegate/protocol/factors-api';

const METHODS: readonly FactorMethod[] = ['passkey', 'totp', 'recovery_code'];

/** What an operator can prove, as a refusal names it; in the order in which we ask. */
export function methodsIn(members: Readonly<Record<string, unknown>> | null): readonly FactorMethod[] {
  const named: unknown = members?.methods;
  return METHODS.filter((method) => Array.isArray(named) && named.includes(method));
}

/** The same of what a step-up asks for, which may be the password. */
export function proofsIn(members: Readonly<Record<string, unknown>> | null): readonly StepUpMethod[] {
  const named: unknown = members?.methods;
  return Array.isArray(named) && named.includes('password') ? ['password'] : methodsIn(members);
}

/** The challenge that a refusal brings for a passkey; null without one. */
export function passkeyIn(members: Readonly<Record<string, unknown>> | null): PasskeyOptions | null {
  const brought: unknown = members?.passkey;
  if (typeof brought !== 'object' || brought === null) return null;
  if (!('challenge_id' in brought) || !('options' in brought)) return null;
  const { challenge_id, options } = brought;
  if (typeof challenge_id !== 'string' || typeof options !== 'object' || options === null) return null;
  return { challenge_id, options };
}

/** How many seconds a refusal asks to wait; 0 where it asks for none. */
export function waitIn(members: Readonly<Record<string, unknown>> | null): number {
  const named: unknown = members?.retry_after_seconds;
  return typeof named === 'number' && named > 0 ? Math.ceil(named) : 0;
}
