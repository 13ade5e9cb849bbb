import { hash } from 'node:crypto';
import { Uuid } from '@tidegate/protocol/scalars';
import { type CryptoKey, errors, jwtVerify, SignJWT } from 'jose';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Clock } from '../platform/clock.ts';
import { createCompactCache } from '../platform/compact-cache.ts';
import { hs256Key } from '../platform/hs256-key.ts';
import { type AgentId, isAgentId } from '../platform/http/identities.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** Life of an access token (docs/protocol/requests.md). */
export const ACCESS_TOKEN_LIFETIME_SECONDS = 900;
const TOKEN_MAX_CHARS = 2_048;
const ISSUER = 'tidegate';
const AUDIENCE = 'agent';

export type VerifiedToken =
  | { ok: true; agentId: AgentId; familyId: string }
  | { ok: false; code: 'access_token_invalid' | 'access_token_expired' };

export interface AccessTokens {
  issue(owner: { agentId: string; familyId: string }): Promise<{ token: string; expiresInSeconds: number }>;
  /**
   * Checks signature, algorithm, type, issuer, audience, claims and expiry, but not revocation and binding, which are
   * read from the database at every request. Synchronous for a token that was verified before.
   */
  verify(token: string): VerifiedToken | Promise<VerifiedToken>;
}

/** HS256 access tokens of agents (R2). `secret` is used only for this kind of token. */
export function createAccessTokens(options: {
  secret: Buffer;
  now: Clock;
  random: RandomBytes;
  /** Memory for verified tokens, in bytes. */
  verifiedMaxBytes: number;
}): AccessTokens {
  const { now, random } = options;
  const key = hs256Key(options.secret);
  const verified = createVerifiedTokens(options.verifiedMaxBytes);

  return {
    async issue({ agentId, familyId }) {
      const issuedAt = Math.floor(now() / 1_000);
      const token = await new SignJWT({ fam: familyId, jti: random(16).toString('base64url') })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(agentId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ACCESS_TOKEN_LIFETIME_SECONDS)
        .sign(key);
      return { token, expiresInSeconds: ACCESS_TOKEN_LIFETIME_SECONDS };
    },
    verify(token) {
      const nowMs = now();
      if (token.length > TOKEN_MAX_CHARS) return INVALID;
      const known = verified.find(token, nowMs);
      if (known !== null) return known;
      return verifyNew(token, { key, nowMs }).then((fresh) => {
        if (fresh === null) return INVALID;
        if (fresh === 'expired') return EXPIRED;
        verified.add(token, { fresh, nowMs });
        return fresh.answer;
      });
    },
  };
}

const INVALID = { ok: false, code: 'access_token_invalid' } as const;
const EXPIRED = { ok: false, code: 'access_token_expired' } as const;

interface Verified {
  answer: Extract<VerifiedToken, { ok: true }>;
  expiresAtSeconds: number;
}

const Claims = Compile(
  Type.Object({ sub: Uuid, fam: Uuid, jti: Type.String({ minLength: 1 }), exp: Type.Integer() }),
);

/** Every parameter is pinned: the sender chose the token's header. */
async function verifyNew(
  token: string,
  { key, nowMs }: { key: CryptoKey; nowMs: number },
): Promise<Verified | 'expired' | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      typ: 'JWT',
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'fam', 'iat', 'exp', 'jti'],
      currentDate: new Date(nowMs),
    });
    if (!Claims.Check(payload) || !isAgentId(payload.sub)) return null;
    const answer = { ok: true, agentId: payload.sub, familyId: payload.fam } as const;
    return { answer, expiresAtSeconds: payload.exp };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'expired';
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

const ID_BYTES = 16;
const ID_WORDS = 4;

/** What verified tokens said, by half of their SHA-256: another token with the same half is 2^128 attempts away. */
function createVerifiedTokens(bytesMax: number) {
  const cache = createCompactCache({ valueWords: 2 * ID_WORDS, bytesMax });
  const digest = new Uint32Array(ID_WORDS);
  const digestBytes = Buffer.from(digest.buffer);
  let bytes = Buffer.from(cache.words.buffer);

  /** Writes the token's digest into `digest`. */
  function digestToken(token: string): void {
    digestBytes.write(hash('sha256', token, 'latin1'), 'latin1');
  }

  function bytesOf(words: Uint32Array): Buffer {
    if (bytes.buffer !== words.buffer) bytes = Buffer.from(words.buffer);
    return bytes;
  }

  return {
    find(token: string, nowMs: number): VerifiedToken | null {
      digestToken(token);
      const at = cache.find(digest, Math.floor(nowMs / 1_000)) * Uint32Array.BYTES_PER_ELEMENT;
      if (at < 0) return null;
      const ids = bytesOf(cache.words).toString('hex', at, at + 2 * ID_BYTES);
      const agentId = uuidOf(ids, 0);
      return isAgentId(agentId) ? { ok: true, agentId, familyId: uuidOf(ids, 2 * ID_BYTES) } : null;
    },
    add(token: string, { fresh, nowMs }: { fresh: Verified; nowMs: number }): void {
      digestToken(token);
      const { answer, expiresAtSeconds } = fresh;
      const at = cache.claim(digest, {
        nowSeconds: Math.floor(nowMs / 1_000),
        untilSeconds: expiresAtSeconds,
      });
      const ids = `${answer.agentId}${answer.familyId}`.replaceAll('-', '');
      bytesOf(cache.words).write(ids, at * Uint32Array.BYTES_PER_ELEMENT, 'hex');
    },
  };
}

/** The UUID at a place in hexadecimal digits. */
function uuidOf(hex: string, at: number): string {
  const part = (from: number, to: number) => hex.slice(at + from, at + to);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}
