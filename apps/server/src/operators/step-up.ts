import type { PasskeyOptions, StepUpMethod, StepUpRequest } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { PASSWORD_LIFETIME_MS, STEP_UP_LIFETIME_MS } from '../platform/http/step-up.ts';
import type { Platform } from '../platform/platform.ts';
import { type CodeDeps, type GivenCode, proveCode } from './codes/prove-code.ts';
import { passkeyFault, wrongCode } from './factor-refusals.ts';
import { openPasskeyChallenge } from './passkeys/challenges.ts';
import { provePasskey, useProof } from './passkeys/prove-passkey.ts';
import type { PasskeySite } from './passkeys/site.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { LoginThrottle } from './sessions/login-throttle.ts';
import { lengthMark } from './sessions/open-session.ts';
import { markProven } from './sessions/store.ts';
import { findOperator } from './store.ts';

/** Who steps up, in which session, and from where. */
export interface SteppingUp {
  caller: OperatorCaller;
  address: string;
}

export async function beginPasskeyStepUp(
  platform: Platform,
  { caller, site }: { caller: OperatorCaller; site: PasskeySite },
): Promise<PasskeyOptions> {
  if (!caller.secondFactor.methods.includes('passkey')) {
    throw new Refusal('conflict', { detail: 'You have no passkey.' });
  }
  const of = { purpose: 'step_up', operator_id: caller.operatorId, session_id: caller.sessionId } as const;
  return platform.database.transact((tx) => openPasskeyChallenge(tx, platform, { ...of, site }));
}

export interface StepUpDeps extends CodeDeps {
  passwords: Passwords;
  throttle: LoginThrottle;
}

/** Proves the password or a second factor for this session only. Returns until when it counts. */
export async function stepUp(
  deps: StepUpDeps,
  by: SteppingUp,
  { proof, site }: { proof: StepUpRequest; site: () => PasskeySite },
): Promise<number> {
  if ('password' in proof) return stepUpByPassword(deps, by, proof.password);
  if (by.caller.secondFactor.methods.length === 0) {
    throw new Refusal('conflict', { detail: 'You have no second factor.' });
  }
  if ('challenge_id' in proof) return stepUpByPasskey(deps.platform, by, { answer: proof, site: site() });
  const given: GivenCode =
    'totp' in proof
      ? { method: 'totp', code: proof.totp }
      : { method: 'recovery_code', code: proof.recovery_code };
  return stepUpByCode(deps, by, given);
}

async function stepUpByPassword(deps: StepUpDeps, by: SteppingUp, password: string): Promise<number> {
  const { platform, passwords } = deps;
  const { caller } = by;
  const operator = await findOperator(platform.database.read, caller.operatorId);
  const matches = await deps.throttle.guess(
    { name: caller.username, by: { kind: 'session', key: caller.sessionId } },
    { verify: () => passwords.verify(operator?.password_hash ?? null, password), onTurns: async () => {} },
  );
  const isProven = await platform.database.transact(async (tx) => {
    // Compare the hash again: a password that was changed meanwhile proves nothing.
    const current = await findOperator(tx, caller.operatorId);
    const isRight = matches && current?.password_hash === operator?.password_hash;
    if (isRight) await succeed(tx, platform, { by, method: 'password', password });
    else await recordStepUp(tx, platform, { by, method: 'password', type: 'STEP_UP_FAILED' });
    return isRight;
  });
  if (isProven) return platform.now() + PASSWORD_LIFETIME_MS;
  throw new Refusal('step_up_required', {
    detail: 'The password is wrong.',
    extra: { methods: ['password'] satisfies StepUpMethod[] },
  });
}

async function stepUpByCode(deps: CodeDeps, by: SteppingUp, given: GivenCode): Promise<number> {
  const { platform } = deps;
  const { caller } = by;
  const operator = { id: caller.operatorId, username: caller.username };
  const outcome = await platform.database.transact(async (tx) => {
    const proof = await proveCode(tx, deps, { operator, given, address: by.address });
    if (proof.ok) await succeed(tx, platform, { by, method: given.method });
    else await recordStepUp(tx, platform, { by, method: given.method, type: 'STEP_UP_FAILED' });
    return proof;
  });
  if (outcome.ok) return platform.now() + STEP_UP_LIFETIME_MS;
  throw wrongCode('step_up_required', { outcome, methods: caller.secondFactor.methods });
}

async function stepUpByPasskey(
  platform: Platform,
  by: SteppingUp,
  { answer, site }: { answer: Extract<StepUpRequest, { challenge_id: string }>; site: PasskeySite },
): Promise<number> {
  const { caller } = by;
  const outcome = await provePasskey(platform, {
    ...{ answer, site, sessionId: caller.sessionId },
    purposes: ['step_up'],
  });
  const fault = await platform.database.transact(async (tx) => {
    const unproven = await useProof(tx, platform, outcome);
    if (unproven === null) await succeed(tx, platform, { by, method: 'passkey' });
    else await recordStepUp(tx, platform, { by, method: 'passkey', type: 'STEP_UP_FAILED' });
    return unproven;
  });
  if (fault === null) return platform.now() + STEP_UP_LIFETIME_MS;
  throw new Refusal('step_up_required', {
    detail: passkeyFault(fault),
    extra: { methods: caller.secondFactor.methods },
  });
}

interface Act {
  by: SteppingUp;
  method: StepUpMethod;
  /** The password, if that was the proof. */
  password?: string;
}

async function succeed(tx: Tx, platform: Platform, act: Act): Promise<void> {
  const { by, password } = act;
  const nowMs = platform.now();
  const proven =
    password === undefined
      ? { second_factor_at: nowMs }
      : { password_at: nowMs, password_is_long: lengthMark(password) };
  const isMarked = await markProven(tx, { id: by.caller.sessionId, proven });
  if (!isMarked) throw new Refusal('access_token_invalid', { detail: 'This session has ended.' });
  await recordStepUp(tx, platform, { ...act, type: 'STEP_UP_SUCCEEDED' });
}

async function recordStepUp(
  tx: Tx,
  platform: Platform,
  { by, method, type }: Act & { type: 'STEP_UP_SUCCEEDED' | 'STEP_UP_FAILED' },
): Promise<void> {
  const { caller, address } = by;
  await appendEvent(tx, platform, {
    kind: 'security',
    type,
    severity: type === 'STEP_UP_FAILED' ? 'warning' : 'info',
    component: 'operators',
    actor: caller.username,
    content: { operator_id: caller.operatorId, username: caller.username, address, method },
  });
}
