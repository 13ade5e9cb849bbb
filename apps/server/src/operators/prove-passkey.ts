import type { PasskeyAnswer } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { PasskeySite } from './passkey-site.ts';
import {
  type ChallengeRow,
  findPasskeyByCredential,
  type PasskeyRow,
  takeChallenge,
  takeSignCount,
} from './passkeys-store.ts';
import { type PasskeyFault, verifyAssertion } from './verify-passkey.ts';

/** A signature that fits; its count is not judged yet. */
export interface ProvenPasskey {
  passkey: PasskeyRow;
  signCount: number;
  backedUp: boolean;
}

export type PasskeyOutcome =
  | { ok: true; proven: ProvenPasskey; challenge: ChallengeRow }
  /** `challenge`: unknown, used up or too old. `operatorId`: whose passkey it was said to be. */
  | { ok: false; reason: PasskeyFault | 'challenge'; operatorId: string | null };

/**
 * Checks what a passkey answers to a challenge of these purposes and this session, and uses the challenge up, whatever the
 * outcome. It counts only with `countUse` in the transaction of the act.
 */
export async function provePasskey(
  { database, now }: Platform,
  asked: {
    answer: PasskeyAnswer;
    purposes: readonly ChallengeRow['purpose'][];
    sessionId: string | null;
    site: PasskeySite;
  },
): Promise<PasskeyOutcome> {
  const { challenge_id: id, credential } = asked.answer;
  const challenge = await database.transact((tx) =>
    takeChallenge(tx, { id, purposes: asked.purposes, session_id: asked.sessionId, nowMs: now() }),
  );
  if (!challenge) return { ok: false, reason: 'challenge', operatorId: null };
  const passkey = await findPasskeyByCredential(database.read, credential.id);
  const operatorId = passkey?.operator_id ?? challenge.operator_id;
  if (!isSameSite(challenge, asked.site)) return { ok: false, reason: 'origin', operatorId };
  if (!passkey || !isMeant({ challenge, passkey, userHandle: credential.response.userHandle ?? null })) {
    return { ok: false, reason: 'refused', operatorId };
  }
  const verified = await verifyAssertion(credential, { challenge, passkey });
  if (!verified.ok) return { ok: false, reason: verified.reason, operatorId };
  const { signCount, backedUp } = verified;
  return { ok: true, proven: { passkey, signCount, backedUp }, challenge };
}

/**
 * Takes the count of a passkey that was proven. False where it has not risen, which is written down: then somebody has
 * a copy of the authenticator (WebAuthn, section 6.1.1).
 */
export async function countUse(tx: Tx, platform: Platform, proven: ProvenPasskey): Promise<boolean> {
  const { passkey, signCount, backedUp } = proven;
  if (await takeSignCount(tx, { id: passkey.id, signCount, backedUp, nowMs: platform.now() })) return true;
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
  return false;
}

/** Whether a challenge was opened at the address at which it is answered. */
export function isSameSite(challenge: ChallengeRow, site: PasskeySite): boolean {
  return challenge.rp_id === site.rpId && challenge.origin === site.origin;
}

/** Whether the passkey may answer the challenge at all: of the same operator and site, as it says itself. */
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

/** What an authenticator keeps of an operator, and names it by. */
export function userHandleOf(operatorId: string): string {
  return Buffer.from(operatorId).toString('base64url');
}
