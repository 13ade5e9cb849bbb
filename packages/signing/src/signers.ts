import { type TrustedKey, verifyEnvelope } from './verify.ts';

/**
 * Which of the keys signed an envelope: the basis of "m of n". Each public key counts once, however often it is listed
 * or has signed, and bad or foreign signatures beside a good one count for nothing (DSSE v1: t distinct keys, not t
 * signatures). Empty for what is no envelope of that type. The caller passes only keys that count. Never throws.
 */
export function signersOf(envelope: unknown, keys: readonly TrustedKey[], payloadType: string): TrustedKey[] {
  const distinct = new Map(keys.map((key) => [key.publicKeyHex, key]));
  return [...distinct.values()].filter((key) => verifyEnvelope(envelope, [key], payloadType).ok);
}
