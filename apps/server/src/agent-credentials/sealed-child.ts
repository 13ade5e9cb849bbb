import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { RandomBytes } from '../platform/ids.ts';

const NONCE_BYTES = 12;
const AUTH_TAG_BYTES = 16;

/**
 * Seals a new token under the secret of the token that it replaces (AES-256-GCM, RFC 5869 for the key): the same request
 * can be answered with the same child again, and a stolen database reveals none.
 */
export function sealChild(
  child: string,
  { parentSecret, familyId, random }: { parentSecret: string; familyId: string; random: RandomBytes },
): string {
  const nonce = random(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(parentSecret, familyId), nonce);
  const sealed = Buffer.concat([cipher.update(child, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Opens what `sealChild` made; null when the secret differs or the text was changed. */
export function openChild(
  sealed: string,
  { parentSecret, familyId }: { parentSecret: string; familyId: string },
): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= NONCE_BYTES + AUTH_TAG_BYTES) return null;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(parentSecret, familyId), nonce, {
    authTagLength: AUTH_TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + AUTH_TAG_BYTES));
  const start = decipher.update(bytes.subarray(NONCE_BYTES + AUTH_TAG_BYTES));
  try {
    return Buffer.concat([start, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

function keyOf(parentSecret: string, familyId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', parentSecret, familyId, 'tidegate sealed child', 32));
}
