import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isWeakPoint, littleEndian } from './public-key.ts';

// RFC 8410: the fixed DER in front of a raw seed (PKCS#8) and of a raw public key (SubjectPublicKeyInfo).
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** The order of the base point (RFC 8032 section 5.1). */
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;

const signatureBytes = 64;

/** The runtime reads these from what it is given, and from its prototypes where they are left out. */
const NO_OPTIONS = { padding: undefined, saltLength: undefined, dsaEncoding: undefined, context: undefined };

/** Decodes hex digits of exactly `byteLength` bytes, in either case; null for anything else. */
export function bytesFromHex(hex: unknown, byteLength: number): Uint8Array | null {
  if (typeof hex !== 'string' || hex.length !== byteLength * 2 || !/^[0-9a-fA-F]*$/.test(hex)) return null;
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

/** Imports a 32-byte seed. The caller has checked the length. */
export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' });
}

/** The raw 32 bytes of the public half of a private key. */
export function publicBytesOf(privateKey: KeyObject): Uint8Array {
  const encoded = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return new Uint8Array(encoded.subarray(publicKeyPrefix.length));
}

/** Imports a raw public key that `judgePublicKey` called sound: the crypto library makes no such check. */
export function publicKeyFromBytes(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicKeyPrefix, bytes]), format: 'der', type: 'spki' });
}

/**
 * Whether `signature` is an Ed25519 signature (RFC 8032 section 5.1.7) of `message`. Checked here and not left to the
 * runtime: the length; S below the group order, so that a signature has one spelling; and R not of small order, which
 * Bun 1.4 takes and Node 26 refuses (measured).
 */
export function isSignatureOf(message: Uint8Array, signature: Uint8Array, publicKey: KeyObject): boolean {
  if (signature.length !== signatureBytes) return false;
  if (isWeakPoint(signature.subarray(0, 32))) return false;
  if (littleEndian(signature.subarray(32)) >= groupOrder) return false;
  return verify(null, message, { ...NO_OPTIONS, key: publicKey }, signature);
}
