import { createSecretKey, type webcrypto } from 'node:crypto';

/** The key of HS256 tokens in the form that `jose` computes with: it converts any other for each token anew. */
export function hs256Key(secret: Buffer): webcrypto.CryptoKey {
  return createSecretKey(secret).toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
