import { generateAuthenticationOptions } from '@simplewebauthn/server';
import type { PasskeyOptions } from '@tidegate/protocol/factors-api';
import type { Tx } from '../../platform/db/engine.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PasskeySite } from './site.ts';
import {
  type ChallengeRow,
  countChallenges,
  deleteExpiredChallenges,
  insertChallenge,
  keepNewestChallenges,
  listPasskeys,
} from './store.ts';

/** How long a challenge can be answered, in milliseconds. */
export const CHALLENGE_LIFETIME_MS = 300_000;
const CHALLENGE_BYTES = 32;
/** Open challenges of one operator; beyond it the oldest is dropped. */
const PER_OPERATOR_MAX = 5;
/** Open challenges in total; beyond it a new one is refused with Retry-After. */
export const CHALLENGES_MAX = 10_000;

export type ChallengeFor = Pick<ChallengeRow, 'purpose' | 'operator_id' | 'session_id'> & {
  site: PasskeySite;
};

/** A new challenge for one act: it works once, within five minutes. */
export async function openChallenge(tx: Tx, platform: Platform, asked: ChallengeFor): Promise<ChallengeRow> {
  const { site, ...of } = asked;
  const nowMs = platform.now();
  await deleteExpiredChallenges(tx, nowMs);
  if ((await countChallenges(tx)) >= CHALLENGES_MAX) {
    throw new Refusal('unavailable', { detail: 'Too many logins are under way.', retryAfterSeconds: 60 });
  }
  const row = await insertChallenge(tx, {
    ...of,
    id: platform.newId(),
    challenge: platform.random(CHALLENGE_BYTES).toString('base64url'),
    rp_id: site.rpId,
    origin: site.origin,
    created_at: nowMs,
    expires_at: nowMs + CHALLENGE_LIFETIME_MS,
  });
  if (of.operator_id !== null) {
    await keepNewestChallenges(tx, { operatorId: of.operator_id, kept: PER_OPERATOR_MAX });
  }
  return row;
}

/** Opens a challenge for the operator's passkeys, or for any that the browser has. */
export async function openPasskeyChallenge(
  tx: Tx,
  platform: Platform,
  asked: ChallengeFor,
): Promise<PasskeyOptions> {
  const row = await openChallenge(tx, platform, asked);
  const passkeys = asked.operator_id === null ? [] : await listPasskeys(tx, asked.operator_id);
  const options = await generateAuthenticationOptions({
    rpID: row.rp_id,
    challenge: challengeBytes(row),
    userVerification: 'required',
    timeout: CHALLENGE_LIFETIME_MS,
    allowCredentials: passkeys
      .filter((passkey) => passkey.rp_id === row.rp_id)
      .map((passkey) => ({ id: passkey.credential_id, transports: readTransports(passkey.transports) })),
  });
  return { challenge_id: row.id, options };
}

export function challengeBytes({ challenge }: Pick<ChallengeRow, 'challenge'>): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(challenge, 'base64url'));
}

/** Reads the column `transports`, which only this slice writes. */
export function readTransports(column: string): string[] {
  const value: unknown = JSON.parse(column);
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
