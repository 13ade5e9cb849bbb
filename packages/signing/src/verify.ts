import type { KeyObject } from 'node:crypto';
import { base64Length, decodeBase64 } from './base64.ts';
import { isSignedOtherwise, maximumPayloadBytes, preAuthenticationEncoding } from './dsse.ts';
import { bytesFromHex, isSignatureOf, publicKeyFromBytes } from './ed25519.ts';
import { judgePublicKey } from './public-key.ts';

/** A DSSE v1 envelope as it travels; `keyid` is an unauthenticated hint (docs/protocol/documents.md). */
export type Envelope = {
  payloadType: string;
  payload: string;
  signatures: { keyid: string; sig: string }[];
};

// Not exported: no other module can make a TrustedKey, so none gets past the checks of `loadTrustedKey`.
const verifyingHalf = Symbol('verifying half');

/** A public key that passed `loadTrustedKey`, the only maker. */
export type TrustedKey = {
  readonly keyId: string;
  readonly publicKeyHex: string;
  readonly [verifyingHalf]: KeyObject;
};

/** Why an envelope is refused. A closed union: callers switch over it without a default. */
export type EnvelopeRefusal =
  | 'malformed'
  | 'too_large'
  | 'wrong_payload_type'
  | 'unsigned'
  | 'no_trusted_key'
  | 'bad_signature';

export type Verification =
  | { ok: true; payload: Uint8Array; keyId: string }
  | { ok: false; reason: EnvelopeRefusal };

export type KeyErrorCode = 'malformed' | 'mismatch' | 'weak';

/** A key that cannot be used. The message names the key id and never the key. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
  readonly code: KeyErrorCode;

  constructor(code: KeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Bounds the work of one refusal to this many verifications per trusted key. */
export const maximumSignatures = 16;

/**
 * Verifies a DSSE v1 envelope and hands out the very bytes that were signed: parse these and nothing else.
 *
 * The caller passes only keys that are trusted and not revoked, and has capped the size of the text it parsed.
 * One good signature by one of the keys is enough; `keyid` is a hint that orders the attempts and decides
 * nothing. Members unknown to DSSE are ignored, as they are not signed. Only own data properties count, not
 * inherited or computed ones. Never throws, whatever `envelope` is.
 */
export function verifyEnvelope(
  envelope: unknown,
  keys: readonly TrustedKey[],
  payloadType: string,
): Verification {
  const read = readEnvelope(envelope);
  if (typeof read === 'string') return { ok: false, reason: read };
  if (read.payloadType !== payloadType) return { ok: false, reason: 'wrong_payload_type' };
  if (read.signatures.length === 0) return { ok: false, reason: 'unsigned' };
  if (keys.length === 0) return { ok: false, reason: 'no_trusted_key' };

  const signed = preAuthenticationEncoding(payloadType, read.payload);
  for (const { keyId, signature } of read.signatures) {
    const key = inHintedOrder(keys, keyId).find((each) =>
      isSignatureOf(signed, signature, each[verifyingHalf]),
    );
    if (key !== undefined) return { ok: true, payload: read.payload, keyId: key.keyId };
  }
  return { ok: false, reason: 'bad_signature' };
}

/**
 * Which of the keys signed, each once however many signatures or key ids it has: a threshold counts distinct
 * keys, not signatures (DSSE v1). Empty when the envelope is invalid or of another type. Never throws, whatever
 * `envelope` is; read the payload with `verifyEnvelope` and one of these keys.
 */
export function signersOf(envelope: unknown, keys: readonly TrustedKey[], payloadType: string): TrustedKey[] {
  const read = readEnvelope(envelope);
  if (typeof read === 'string' || read.payloadType !== payloadType) return [];
  const signed = preAuthenticationEncoding(payloadType, read.payload);
  const distinct = new Map(keys.map((key) => [key.publicKeyHex, key]));
  return [...distinct.values()].filter((key) =>
    read.signatures.some(({ signature }) => isSignatureOf(signed, signature, key[verifyingHalf])),
  );
}

/**
 * Whether `signature` is one of `signDetached` over these bytes. False, whatever the signature is, for bytes that begin
 * like what an envelope signs, and for 64 bytes or fewer: neither an envelope nor a digest can be presented as a file.
 */
export function verifyDetached(key: TrustedKey, bytes: Uint8Array, signature: Uint8Array): boolean {
  return !isSignedOtherwise(bytes) && isSignatureOf(bytes, signature, key[verifyingHalf]);
}

/** The key as SubjectPublicKeyInfo in PEM (RFC 8410), as OpenSSL reads it. */
export function publicKeyPem(key: TrustedKey): string {
  return key[verifyingHalf].export({ type: 'spki', format: 'pem' }).toString();
}

/**
 * Makes a public key usable for `verifyEnvelope`. Hex digits of either case, kept in lower case. Throws
 * `KeyError`: `malformed` (not 64 hex digits, no point of the curve, no key id), `weak` (small order, all zero,
 * not canonical): refused here because Node's and Bun's libraries differ on such keys.
 */
export function loadTrustedKey({ keyId, publicKeyHex }: { keyId: string; publicKeyHex: string }): TrustedKey {
  const bytes = bytesFromHex(publicKeyHex, 32);
  if (bytes === null) throw new KeyError('malformed', `Public key ${keyId} is not 64 hex digits`);
  if (keyId === '') throw new KeyError('malformed', 'A public key has no key id');
  const judgement = judgePublicKey(bytes);
  if (judgement === 'malformed')
    throw new KeyError('malformed', `Public key ${keyId} is no point of the curve`);
  if (judgement === 'weak')
    throw new KeyError('weak', `Public key ${keyId} is of small order or not canonical`);
  return { keyId, publicKeyHex: publicKeyHex.toLowerCase(), [verifyingHalf]: publicKeyFromBytes(bytes) };
}

function inHintedOrder(keys: readonly TrustedKey[], keyId: unknown): TrustedKey[] {
  return [...keys.filter((key) => key.keyId === keyId), ...keys.filter((key) => key.keyId !== keyId)];
}

type ReadEnvelope = {
  payloadType: string;
  payload: Uint8Array;
  signatures: { keyId: unknown; signature: Uint8Array }[];
};
type Unreadable = 'malformed' | 'too_large';

function readEnvelope(envelope: unknown): ReadEnvelope | Unreadable {
  try {
    return readMembers(envelope);
  } catch {
    // Only a proxy instead of parsed JSON throws here: it is malformed, and `verifyEnvelope` never throws.
    return 'malformed';
  }
}

/** Takes every member once, so that a proxy cannot answer the check and the use differently. */
function readMembers(envelope: unknown): ReadEnvelope | Unreadable {
  const payloadType = ownValue(envelope, 'payloadType');
  const payloadText = ownValue(envelope, 'payload');
  if (typeof payloadType !== 'string' || typeof payloadText !== 'string') return 'malformed';
  const entries = readEntries(ownValue(envelope, 'signatures'));
  if (entries === 'malformed') return 'malformed';
  if (payloadText.length > base64Length(maximumPayloadBytes)) return 'too_large';
  if (entries === 'too_large') return 'too_large';
  const signatures = entries.map(readSignature);
  if (!signatures.every((entry) => entry !== null)) return 'malformed';
  const payload = decodeBase64(payloadText);
  if (payload === null) return 'malformed';
  if (payload.length > maximumPayloadBytes) return 'too_large';
  return { payloadType, payload, signatures };
}

/** The entries of an array by index: neither its iterator nor what its prototype has in place of a hole. */
function readEntries(list: unknown): unknown[] | Unreadable {
  if (!Array.isArray(list)) return 'malformed';
  const length = ownValue(list, 'length');
  if (typeof length !== 'number') return 'malformed';
  if (length > maximumSignatures) return 'too_large';
  return Array.from({ length }, (_, index) => ownValue(list, String(index)));
}

/** A signature of another length may be one of another algorithm (DSSE): it is read, and verifies under no key. */
function readSignature(entry: unknown): { keyId: unknown; signature: Uint8Array } | null {
  const sig = ownValue(entry, 'sig');
  if (typeof sig !== 'string' || sig.length > base64Length(maximumSignatureBytes)) return null;
  const signature = decodeBase64(sig);
  return signature === null ? null : { keyId: ownValue(entry, 'keyid'), signature };
}

const maximumSignatureBytes = 1024;

/**
 * An own data property of an object: undefined when absent, inherited or computed. Parsed JSON has only own data
 * properties; anything else is not part of the document.
 */
function ownValue(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined;
  const member = Object.getOwnPropertyDescriptor(holder, name);
  // The descriptor inherits too: that of a getter has no `value` of its own.
  return member !== undefined && Object.hasOwn(member, 'value') ? member.value : undefined;
}
