import type { PasskeyOptions, StepUpRequest } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { STEP_UP_LIFETIME_MS } from '../platform/http/step-up.ts';
import type { Platform } from '../platform/platform.ts';
import { passkeyFault, wrongCode } from './factor-refusals.ts';
import { askForPasskey } from './passkey-challenges.ts';
import type { PasskeySite } from './passkey-site.ts';
import { type CodeDeps, type GivenCode, proveCode } from './prove-code.ts';
import { provePasskey, useProof } from './prove-passkey.ts';
import { markSteppedUp } from './sessions-store.ts';

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
  return platform.database.transact((tx) => askForPasskey(tx, platform, { ...of, site }));
}

/** Proves a second factor for this session, and no other. Answers until when it counts. */
export async function stepUp(
  deps: CodeDeps,
  by: SteppingUp,
  { proof, site }: { proof: StepUpRequest; site: () => PasskeySite },
): Promise<number> {
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

async function stepUpByCode(deps: CodeDeps, by: SteppingUp, given: GivenCode): Promise<number> {
  const { platform } = deps;
  const { caller } = by;
  const operator = { id: caller.operatorId, username: caller.username };
  const outcome = await platform.database.transact(async (tx) => {
    const proof = await proveCode(tx, deps, { operator, given });
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
  method: string;
}

async function succeed(tx: Tx, platform: Platform, act: Act): Promise<void> {
  await markSteppedUp(tx, { id: act.by.caller.sessionId, nowMs: platform.now() });
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
