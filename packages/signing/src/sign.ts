import { type KeyObject, sign } from 'node:crypto';
import { decodeBase64 } from './base64.ts';
import { isSignedOtherwise, maximumPayloadBytes, preAuthenticationEncoding } from './dsse.ts';
import { bytesFromHex, privateKeyFromSeed, publicBytesOf } from './ed25519.ts';
import { type Envelope, KeyError, maximumSignatures } from './verify.ts';

// Not exported, and a KeyObject rather than bytes: the private half is in no log line, dump or JSON of the key.
const signingHalf = Symbol('signing half');

/** A private key that passed `loadSigningKey`, the only maker. */
export type SigningKey = {
  readonly keyId: string;
  readonly publicKeyHex: string;
  readonly [signingHalf]: KeyObject;
};

/**
 * Signs `bytes` as a document of `payloadType` (DSSE v1). The caller keeps to one payload type per meaning, and
 * puts key id and version into the body as well, since `keyid` is not signed. Throws `RangeError` above
 * `maximumPayloadBytes`, which every verifier would refuse.
 */
export function signEnvelope(key: SigningKey, payloadType: string, bytes: Uint8Array): Envelope {
  if (bytes.length > maximumPayloadBytes) {
    throw new RangeError(`A payload of ${bytes.length} bytes is above the limit of ${maximumPayloadBytes}`);
  }
  const signature = sign(null, preAuthenticationEncoding(payloadType, bytes), key[signingHalf]);
  return {
    payloadType,
    payload: Buffer.from(bytes).toString('base64'),
    signatures: [{ keyid: key.keyId, sig: signature.toString('base64') }],
  };
}

/**
 * Signs bytes as they are (RFC 8032), so that tools such as OpenSSL verify them: for a file of checksums, and for nothing
 * that has a payload type. Throws `RangeError` for bytes that begin like what `signEnvelope` signs, and for 64 bytes or fewer: they
 * could be a digest, which OpenPGP signs.
 */
export function signDetached(key: SigningKey, bytes: Uint8Array): Uint8Array {
  if (isSignedOtherwise(bytes))
    throw new RangeError('These bytes could be taken for those of an envelope, or for a digest');
  return new Uint8Array(sign(null, bytes, key[signingHalf]));
}

/**
 * Adds a signature to an envelope that others have signed, over its very bytes; the same again adds nothing. The
 * caller must have reviewed the content: it is not checked here. Throws `RangeError` for an invalid envelope, and
 * for one that already has the maximum number of signatures.
 */
export function countersign(key: SigningKey, envelope: Envelope): Envelope {
  const payload = decodeBase64(envelope.payload);
  if (payload === null) throw new RangeError('The payload of the envelope is not base64');
  const [own] = signEnvelope(key, envelope.payloadType, payload).signatures;
  if (own === undefined || envelope.signatures.some(({ sig }) => sig === own.sig)) return envelope;
  if (envelope.signatures.length >= maximumSignatures) {
    throw new RangeError(`The envelope has ${maximumSignatures} signatures already`);
  }
  return { ...envelope, signatures: [...envelope.signatures, own] };
}

/**
 * Makes a private key usable: 128 hex digits, seed then public key (R4, `SERVICE_SIGNING_PRIVATE_KEY`).
 * Throws `KeyError`: `malformed` (another length, other digits, no key id), `weak` (a seed of zeroes), `mismatch` (the
 * halves do not belong together: signing with a foreign public half would give the seed away).
 */
export function loadSigningKey({
  keyId,
  privateKeyHex,
}: {
  keyId: string;
  privateKeyHex: string;
}): SigningKey {
  const bytes = bytesFromHex(privateKeyHex, 64);
  if (bytes === null) throw new KeyError('malformed', `Private key ${keyId} is not 128 hex digits`);
  if (keyId === '') throw new KeyError('malformed', 'A private key has no key id');
  const privateKey = privateKeyFromSeed(soundSeed(bytes.subarray(0, 32)));
  const publicHalf = publicBytesOf(privateKey);
  if (!Buffer.from(publicHalf).equals(bytes.subarray(32))) {
    throw new KeyError('mismatch', `The halves of private key ${keyId} do not belong together`);
  }
  return { keyId, publicKeyHex: Buffer.from(publicHalf).toString('hex'), [signingHalf]: privateKey };
}

/**
 * The private key hex (seed then public key) that 32 random bytes make. The randomness is the caller's, and must come
 * from the operating system. Throws `KeyError`: `malformed` (not 32 bytes), `weak` (all zero: nothing filled it).
 */
export function generatePrivateKeyHex(seed: Uint8Array): string {
  if (seed.length !== 32) throw new KeyError('malformed', `A seed has 32 bytes, not ${seed.length}`);
  const publicHalf = publicBytesOf(privateKeyFromSeed(soundSeed(seed)));
  return Buffer.concat([seed, publicHalf]).toString('hex');
}

function soundSeed(seed: Uint8Array): Uint8Array {
  if (seed.every((byte) => byte === 0)) throw new KeyError('weak', 'The seed of a private key is all zero');
  return seed;
}
