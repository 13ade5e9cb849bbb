import { createHash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from '../platform/ids.ts';

const SECRET_BYTES = 32;
const FORM = /^tg_[\w-]{43}$/;

/** A new secret of a token: 256 random bits. */
export function makeApiSecret(random: RandomBytes): string {
  return `tg_${random(SECRET_BYTES).toString('base64url')}`;
}

/** The hash that the database stores; null when the text is no API token. */
export function hashApiSecret(text: string): string | null {
  return FORM.test(text) ? createHash('sha256').update(text).digest('hex') : null;
}

/** Compares in constant time. The index lookup before it does not. */
export function isSameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
