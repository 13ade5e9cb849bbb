import { createHash } from 'node:crypto';
import type { RandomBytes } from '../platform/ids.ts';

const SECRET_BYTES = 32;
const FORM = /^tgr_[\w-]{43}$/;

/** Generates the secret of a registration token: 256 random bits. */
export function makeRegistrationSecret(random: RandomBytes): string {
  return `tgr_${random(SECRET_BYTES).toString('base64url')}`;
}

/** The hash to store; null if the text is not a registration token. */
export function hashRegistrationSecret(text: string): string | null {
  return FORM.test(text) ? createHash('sha256').update(text).digest('hex') : null;
}
