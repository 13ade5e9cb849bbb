import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import {
  COSEALG,
  decodeAttestationObject,
  decodeClientDataJSON,
  isoBase64URL,
} from '@simplewebauthn/server/helpers';
import type { Assertion, NewCredential } from '@tidegate/protocol/factors-api';
import type { ChallengeRow, PasskeyRow } from './store.ts';

/** Accepted keys: Ed25519, P-256, and RSA, the only algorithm of some machines. */
export const ALGORITHMS = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];
/** Disables the library's own check: `advanceSignCount` judges counts after the signature. */
const NO_COUNT = 0;

export type VerifiedCredential =
  | { ok: true; credentialId: string; publicKey: string; signCount: number; backedUp: boolean }
  | { ok: false; reason: PasskeyFault };
export type VerifiedAssertion =
  | { ok: true; signCount: number; backedUp: boolean }
  | { ok: false; reason: PasskeyFault };
/** `origin`: made for another address than this server's; `refused`: anything else. */
export type PasskeyFault = 'origin' | 'refused';

/** Whether a new credential was made for this challenge and origin by a verified user (WebAuthn, section 7.1). */
export async function verifyNewCredential(
  credential: NewCredential,
  challenge: ChallengeRow,
): Promise<VerifiedCredential> {
  try {
    const fault = faultOfClient(credential.response.clientDataJSON, challenge.origin);
    if (fault !== null) return { ok: false, reason: fault };
    if (!isAttestationTaken(credential.response.attestationObject)) return { ok: false, reason: 'refused' };
    const { id, rawId, type, response } = credential;
    const verified = await verifyRegistrationResponse({
      response: { id, rawId, type, clientExtensionResults: {}, response },
      expectedChallenge: challenge.challenge,
      expectedOrigin: challenge.origin,
      expectedRPID: challenge.rp_id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified.verified) return { ok: false, reason: 'refused' };
    const { credential: made, credentialBackedUp } = verified.registrationInfo;
    return {
      ok: true,
      credentialId: made.id,
      publicKey: Buffer.from(made.publicKey).toString('base64url'),
      signCount: made.counter,
      backedUp: credentialBackedUp,
    };
  } catch {
    return REFUSED;
  }
}

/**
 * Whether the passkey signed this challenge at this origin for a verified user (WebAuthn, section 7.2). The caller
 * judges the sign count.
 */
export async function verifyAssertion(
  assertion: Assertion,
  { challenge, passkey }: { challenge: ChallengeRow; passkey: PasskeyRow },
): Promise<VerifiedAssertion> {
  try {
    const fault = faultOfClient(assertion.response.clientDataJSON, challenge.origin);
    if (fault !== null) return { ok: false, reason: fault };
    const { id, rawId, type, response } = assertion;
    const { clientDataJSON, authenticatorData, signature } = response;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...{ id, rawId, type, clientExtensionResults: {} },
        response: { clientDataJSON, authenticatorData, signature },
      },
      expectedChallenge: challenge.challenge,
      expectedOrigin: challenge.origin,
      expectedRPID: challenge.rp_id,
      requireUserVerification: true,
      credential: {
        id: passkey.credential_id,
        publicKey: Uint8Array.from(Buffer.from(passkey.public_key, 'base64url')),
        counter: NO_COUNT,
      },
    });
    if (!verified) return REFUSED;
    const { newCounter, credentialBackedUp } = authenticationInfo;
    return { ok: true, signCount: newCounter, backedUp: credentialBackedUp };
  } catch {
    return REFUSED;
  }
}

/** The library throws plain errors for any malformed input; all of them are refused alike. */
const REFUSED = { ok: false, reason: 'refused' } as const;

/** Checks the origin that the browser reports; a frame within another site's page is refused. */
function faultOfClient(clientDataJSON: string, origin: string): PasskeyFault | null {
  const client = decodeClientDataJSON(clientDataJSON);
  if (client.crossOrigin) return 'refused';
  return client.origin === origin ? null : 'origin';
}

/**
 * No attestation is requested, so that authenticators do not reveal their make. Attestation certificates are not
 * checked: that would fetch revocation lists, and a request handler never calls out.
 */
function isAttestationTaken(attestationObject: string): boolean {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = attestation.get('fmt');
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
}
