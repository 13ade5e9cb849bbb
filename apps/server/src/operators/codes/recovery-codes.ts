import { createHash } from 'node:crypto';
import type { RandomBytes } from '../../platform/ids.ts';

/** Codes made at once. */
export const RECOVERY_CODES = 10;
/** 80 random bits are too many to guess, so plain SHA-256 protects a code. */
const CODE_BYTES = 10;
/** Crockford's base 32: no letters that look alike. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Ten new codes of the form `xxxx-xxxx-xxxx-xxxx`. */
export function makeRecoveryCodes(random: RandomBytes): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const letters = base32(random(CODE_BYTES));
    return letters.match(/.{4}/g)?.join('-') ?? letters;
  });
}

/** The hash that the database stores. Ignores spaces, hyphens and case, and reads look-alike letters as digits. */
export function hashRecoveryCode(code: string): string {
  const plain = code.toLowerCase().replace(/[\s-]/g, '').replace(/[il]/g, '1').replace(/o/g, '0');
  return createHash('sha256').update(plain).digest('hex');
}

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}
