import { generateRegistrationOptions } from '@simplewebauthn/server';
import type { NewCredential, Passkey, PasskeyOptions } from '@tidegate/protocol/factors-api';
import { appendEvent } from '../../events/append-event.ts';
import { rfc3339 } from '../../platform/clock.ts';
import type { Tx } from '../../platform/db/engine.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import { countFactors } from '../codes/store.ts';
import { passkeyFault } from '../factor-refusals.ts';
import { notifySelf } from '../notices/notices.ts';
import { type FactorOwner, factorAdded, factorRemoved, issueRecoveryCodes } from '../record-factor.ts';
import { CHALLENGE_LIFETIME_MS, challengeBytes, openChallenge, readTransports } from './challenges.ts';
import { isSameSite } from './prove-passkey.ts';
import type { PasskeySite } from './site.ts';
import {
  deletePasskey,
  findChallenge,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  renamePasskey,
  useChallenge,
} from './store.ts';
import { ALGORITHMS, type VerifiedCredential, verifyNewCredential } from './verify-passkey.ts';

/** Passkeys per operator. */
export const PASSKEYS_MAX = 20;

/** Options for a discoverable passkey with user verification. */
export async function beginPasskey(
  platform: Platform,
  { owner, site }: { owner: FactorOwner; site: PasskeySite },
): Promise<PasskeyOptions> {
  const { operatorId, username, sessionId } = owner;
  return platform.database.transact(async (tx) => {
    const known = await listPasskeys(tx, operatorId);
    demandRoom(known.length);
    const of = { purpose: 'add', operator_id: operatorId, session_id: sessionId } as const;
    const challenge = await openChallenge(tx, platform, { ...of, site });
    const options = await generateRegistrationOptions({
      rpName: 'Tidegate',
      rpID: site.rpId,
      userID: Uint8Array.from(Buffer.from(operatorId)),
      userName: username,
      userDisplayName: username,
      challenge: challengeBytes(challenge),
      timeout: CHALLENGE_LIFETIME_MS,
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: known
        .filter((passkey) => passkey.rp_id === site.rpId)
        .map((passkey) => ({ id: passkey.credential_id, transports: readTransports(passkey.transports) })),
    });
    return { challenge_id: challenge.id, options };
  });
}

/** Verifies and stores a new passkey. An operator's first factor also creates recovery codes. */
export async function addPasskey(
  platform: Platform,
  asked: {
    owner: FactorOwner;
    site: PasskeySite;
    challengeId: string;
    name: string;
    credential: NewCredential;
  },
): Promise<{ passkey: Passkey; recoveryCodes: string[] | null }> {
  const { owner, site, challengeId: id, name, credential } = asked;
  const { operatorId, sessionId } = owner;
  const { database, now } = platform;
  const open = { id, purposes: ['add'], session_id: sessionId, nowMs: now() } as const;
  const challenge = await findChallenge(database.read, open);
  if (!challenge) throw unfit('challenge');
  const verified: VerifiedCredential = isSameSite(challenge, site)
    ? await verifyNewCredential(credential, challenge)
    : { ok: false, reason: 'origin' };
  if (!verified.ok) {
    await database.transact((tx) => useChallenge(tx, challenge));
    throw unfit(verified.reason);
  }
  const made = {
    id: platform.newId(),
    operator_id: operatorId,
    credential_id: verified.credentialId,
    public_key: verified.publicKey,
    sign_count: verified.signCount,
    rp_id: site.rpId,
    transports: JSON.stringify(credential.response.transports ?? []),
    backed_up: verified.backedUp ? 1 : 0,
    name,
    created_at: now(),
    last_used_at: null,
  };
  return database.transact(async (tx) => {
    if (!(await useChallenge(tx, challenge))) throw unfit('challenge');
    demandRoom((await listPasskeys(tx, operatorId)).length);
    const row = await insertPasskey(tx, made);
    if (!row) {
      throw new Refusal('conflict', { detail: 'This passkey is already registered.' });
    }
    const { recoveryCodesLeft } = await countFactors(tx, operatorId);
    const recoveryCodes = recoveryCodesLeft > 0 ? null : await issueRecoveryCodes(tx, platform, operatorId);
    await factorAdded(tx, platform, { owner, note: noteOf(row) });
    return { passkey: passkeyView(row), recoveryCodes };
  });
}

export async function changePasskey(
  platform: Platform,
  { owner, id, name }: { owner: FactorOwner; id: string; name: string },
): Promise<Passkey> {
  return platform.database.transact(async (tx) => {
    const row = await renamePasskey(tx, { id, operatorId: owner.operatorId, name });
    if (!row) throw notFound();
    await recordRename(tx, platform, { owner, row });
    return passkeyView(row);
  });
}

export async function removePasskey(
  platform: Platform,
  { owner, id }: { owner: FactorOwner; id: string },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const row = await deletePasskey(tx, { id, operatorId: owner.operatorId });
    if (!row) throw notFound();
    await factorRemoved(tx, platform, { owner, note: noteOf(row) });
  });
}

/** Never shows the public key or the credential id. */
export function passkeyView(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    name: row.name,
    created_at: rfc3339(row.created_at),
    last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
    backed_up: row.backed_up === 1,
  };
}

async function recordRename(
  tx: Tx,
  platform: Platform,
  { owner, row }: { owner: FactorOwner; row: PasskeyRow },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'OPERATOR_CHANGED',
    severity: 'info',
    component: 'operators',
    actor: owner.username,
    content: {
      change: 'passkey_renamed',
      operator_id: owner.operatorId,
      username: owner.username,
      passkey_id: row.id,
      name: row.name,
    },
  });
  await notifySelf(tx, platform, { caller: owner, kind: 'passkey_renamed', subject: row.name });
}

function noteOf({ id, name }: Pick<PasskeyRow, 'id' | 'name'>) {
  return { factor: 'passkey', passkey_id: id, name } as const;
}

function demandRoom(count: number): void {
  if (count < PASSKEYS_MAX) return;
  throw new Refusal('conflict', {
    detail: `An operator has at most ${PASSKEYS_MAX} passkeys: remove one first.`,
  });
}

function unfit(reason: Parameters<typeof passkeyFault>[0]): Refusal {
  const errors = [{ path: '/credential', message: 'is not accepted' }];
  return new Refusal('invalid_request', { detail: passkeyFault(reason), errors });
}

function notFound(): Refusal {
  return new Refusal('not_found', { detail: 'You have no such passkey.' });
}
