import { createHash, timingSafeEqual } from 'node:crypto';
import { isAgentId } from '../platform/http/identities.ts';
import type { RandomBytes } from '../platform/ids.ts';

const SECRET_BYTES = 32;
const SECRET = /^tgf_[\w-]{43}$/;
/** Of HTTP Basic with ours, which are 84 characters before base64. */
const BASIC = /^basic +([a-z0-9+/]{1,200}={0,2})$/i;

/** What a client sends as the user and the password of its base URL. */
export interface Credential {
  readonly id: string;
  readonly secret: string;
}

export function makeSecret(random: RandomBytes): string {
  return `tgf_${random(SECRET_BYTES).toString('base64url')}`;
}

export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** In constant time: how much of a guess is right takes no longer to find than how much is wrong. */
export function isSecret(secret: string, hash: string): boolean {
  const [given, due] = [Buffer.from(hashSecret(secret)), Buffer.from(hash)];
  return given.length === due.length && timingSafeEqual(given, due);
}

/** The credential of an Authorization header (RFC 7617); null if it is none of the form of ours. */
export function basicCredential(authorization: string | undefined): Credential | null {
  const encoded = BASIC.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const colon = text.indexOf(':');
  const [id, secret] = [text.slice(0, Math.max(0, colon)), text.slice(colon + 1)];
  return isAgentId(id) && SECRET.test(secret) ? { id, secret } : null;
}
