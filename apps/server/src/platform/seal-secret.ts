import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomBytes } from './ids.ts';

const NONCE_BYTES = 12;
const AUTH_TAG_BYTES = 16;

/**
 * Seals a secret for the database (AES-256-GCM). `owner` names the row it belongs to, and opens no other; `key` is one
 * of `Secrets`, for this purpose alone.
 */
export function sealSecret(
  secret: Buffer,
  { key, owner, random }: { key: Buffer; owner: string; random: RandomBytes },
): string {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Opens what `sealSecret` made; null when the key or owner differs, or the text was changed. */
export function openSecret(sealed: string, { key, owner }: { key: Buffer; owner: string }): Buffer | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= NONCE_BYTES + AUTH_TAG_BYTES) return null;
  const options = { authTagLength: AUTH_TAG_BYTES };
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), options);
  decipher.setAAD(Buffer.from(owner));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + AUTH_TAG_BYTES));
  const start = decipher.update(bytes.subarray(NONCE_BYTES + AUTH_TAG_BYTES));
  try {
    return Buffer.concat([start, decipher.final()]);
  } catch {
    // GCM reports a wrong tag only by throwing.
    return null;
  }
}
