import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Life of a refresh token from its own issue, by the server's clock (R2: ninety days). */
export const REFRESH_TOKEN_LIFETIME_MS = 90 * 86_400_000;
/** Random bytes of a refresh token: 256 bits. */
export const REFRESH_SECRET_BYTES = 32;
const TAG_BYTES = 16;

/** A refresh token as presented, not verified yet. */
export interface PresentedToken {
  text: string;
  familyId: string;
  seq: number;
  /** 43 characters of base64url. */
  secret: string;
  tag: string;
}

const FORM =
  /^rt1\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([1-9][0-9]{0,14})\.([\w-]{43})\.([\w-]{22})$/;

/** `rt1.<family>.<seq>.<secret>.<tag>`; `secret` must be REFRESH_SECRET_BYTES of cryptographic randomness. */
export function formRefreshToken(
  tagKey: Buffer,
  { familyId, seq, secret }: { familyId: string; seq: number; secret: Buffer },
): string {
  const body = `rt1.${familyId}.${seq}.${secret.toString('base64url')}`;
  return `${body}.${tagOf(tagKey, body)}`;
}

/** Parses the format only; null when the text has another one. */
export function parseRefreshToken(text: string): PresentedToken | null {
  const match = FORM.exec(text);
  if (!match) return null;
  const [, familyId = '', seq = '', secret = '', tag = ''] = match;
  return { text, familyId, seq: Number(seq), secret, tag };
}

/** Whether this server made the token: otherwise a token without a known hash must not affect its family. */
export function isGenuine(tagKey: Buffer, token: PresentedToken): boolean {
  const body = token.text.slice(0, token.text.lastIndexOf('.'));
  return timingSafeEqual(Buffer.from(tagOf(tagKey, body)), Buffer.from(token.tag));
}

/** The stored hash of a token: plain SHA-256 is enough for 256 random bits. */
export function hashRefreshToken(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Compares two hashes in constant time; a missing hash equals nothing. */
export function sameHash(a: string, b: string | null): boolean {
  if (b === null) return false;
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The key of the tags, derived from the secret of the access tokens. */
export function refreshTagKey(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'tidegate refresh-token tag', 32));
}

/** Covers the secret too, so that a known family and seq cannot be combined with another secret. */
function tagOf(tagKey: Buffer, body: string): string {
  return createHmac('sha256', tagKey).update(body).digest().subarray(0, TAG_BYTES).toString('base64url');
}
