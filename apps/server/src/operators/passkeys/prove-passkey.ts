import type { PasskeyAnswer } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../../events/append-event.ts';
import type { Tx } from '../../platform/db/engine.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PasskeySite } from './site.ts';
import {
  advanceSignCount,
  type ChallengeRow,
  findChallenge,
  findPasskeyByCredential,
  type PasskeyRow,
  useChallenge,
} from './store.ts';
import { type PasskeyFault, verifyAssertion } from './verify-passkey.ts';

/** The outcome of a passkey's answer; `challenge` is null when it is unknown. */
export type PasskeyOutcome =
  | {
      ok: true;
      challenge: ChallengeRow;
      passkey: PasskeyRow;
      /** As the authenticator reports it, not yet judged. */
      signCount: number;
      backedUp: boolean;
    }
  /** `operatorId`: the claimed owner of the passkey. */
  | { ok: false; challenge: ChallengeRow | null; reason: PasskeyFault; operatorId: string | null };

/** `challenge`: unknown, used up or too old; `cloned`: the sign count did not rise. */
export type ProofFault = PasskeyFault | 'challenge' | 'cloned';

/**
 * Verifies a passkey's answer to a challenge of these purposes and this session. Whatever the outcome, it counts only
 * after `useProof` in the transaction of the act.
 */
export async function provePasskey(
  { database: { read }, now }: Platform,
  asked: {
    answer: PasskeyAnswer;
    purposes: readonly ChallengeRow['purpose'][];
    sessionId: string | null;
    site: PasskeySite;
  },
): Promise<PasskeyOutcome> {
  const { challenge_id: id, credential } = asked.answer;
  const { purposes, sessionId } = asked;
  const challenge = await findChallenge(read, { id, purposes, session_id: sessionId, nowMs: now() });
  const passkey = await findPasskeyByCredential(read, credential.id);
  const operatorId = passkey?.operator_id ?? challenge?.operator_id ?? null;
  const fail = (reason: PasskeyFault) => ({ ok: false, challenge, reason, operatorId }) as const;
  if (!challenge) return fail('refused');
  if (!isSameSite(challenge, asked.site)) return fail('origin');
  const userHandle = credential.response.userHandle ?? null;
  if (!passkey || !isMeant({ challenge, passkey, userHandle })) return fail('refused');
  const verified = await verifyAssertion(credential, { challenge, passkey });
  if (!verified.ok) return fail(verified.reason);
  const { signCount, backedUp } = verified;
  return { ok: true, challenge, passkey, signCount, backedUp };
}

/**
 * Uses up the challenge, also after a wrong answer, and stores the sign count. Null when the proof counts. A sign count
 * that has not risen is recorded: somebody has a copy of the authenticator (WebAuthn, section 6.1.1).
 */
export async function useProof(
  tx: Tx,
  platform: Platform,
  outcome: PasskeyOutcome,
): Promise<ProofFault | null> {
  const isOpen = outcome.challenge !== null && (await useChallenge(tx, outcome.challenge));
  if (!isOpen) return 'challenge';
  if (!outcome.ok) return outcome.reason;
  const { passkey, signCount, backedUp } = outcome;
  if (await advanceSignCount(tx, { id: passkey.id, signCount, backedUp, nowMs: platform.now() })) return null;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'PASSKEY_CLONE_SUSPECTED',
    severity: 'error',
    component: 'operators',
    content: {
      operator_id: passkey.operator_id,
      passkey_id: passkey.id,
      name: passkey.name,
      recorded_count: passkey.sign_count,
      presented_count: signCount,
    },
  });
  return 'cloned';
}

/** Whether a challenge is answered at the address where it was opened. */
export function isSameSite(challenge: ChallengeRow, site: PasskeySite): boolean {
  return challenge.rp_id === site.rpId && challenge.origin === site.origin;
}

/** Whether the passkey may answer the challenge: same operator, same site, matching user handle. */
function isMeant({
  challenge,
  passkey,
  userHandle,
}: {
  challenge: ChallengeRow;
  passkey: PasskeyRow;
  userHandle: string | null;
}): boolean {
  if (challenge.operator_id !== null && challenge.operator_id !== passkey.operator_id) return false;
  if (passkey.rp_id !== challenge.rp_id) return false;
  return userHandle === null || userHandle === userHandleOf(passkey.operator_id);
}

/** The user handle that an authenticator stores for an operator. */
export function userHandleOf(operatorId: string): string {
  return Buffer.from(operatorId).toString('base64url');
}
