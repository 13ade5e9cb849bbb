import { createSecretKey, type KeyObject } from 'node:crypto';
import { Uuid } from '@tidegate/protocol/scalars';
import { errors, jwtVerify, SignJWT } from 'jose';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Clock } from '../platform/clock.ts';
import { type AgentId, isAgentId } from '../platform/http/identities.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** Life of an access token (docs/protocol/requests.md). */
export const ACCESS_TOKEN_LIFETIME_SECONDS = 900;
/** Size of the cache of verified tokens: two per agent of the largest planned fleet, the present one and its successor. */
export const VERIFIED_TOKENS_MAX = 50_000;
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
  verifiedMax?: number;
}): AccessTokens {
  const { now, random, verifiedMax = VERIFIED_TOKENS_MAX } = options;
  const key = createSecretKey(options.secret);
  const verified = createCache(verifiedMax);

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
      const known = verified.get(token);
      if (known) return now() < known.expiresAtMs ? known.answer : EXPIRED;
      return verifyNew(token, { key, nowMs: now() }).then((fresh) => {
        if (fresh === null) return INVALID;
        if (fresh === 'expired') return EXPIRED;
        verified.add(fresh);
        return fresh.answer;
      });
    },
  };
}

const INVALID = { ok: false, code: 'access_token_invalid' } as const;
const EXPIRED = { ok: false, code: 'access_token_expired' } as const;

interface Verified {
  token: string;
  answer: Extract<VerifiedToken, { ok: true }>;
  expiresAtMs: number;
}

const Claims = Compile(
  Type.Object({ sub: Uuid, fam: Uuid, jti: Type.String({ minLength: 1 }), exp: Type.Integer() }),
);

/** Every parameter is pinned: the sender chose the token's header. */
async function verifyNew(
  token: string,
  { key, nowMs }: { key: KeyObject; nowMs: number },
): Promise<Verified | 'expired' | null> {
  if (token.length > TOKEN_MAX_CHARS) return null;
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
    return { token: flat(token), answer, expiresAtMs: payload.exp * 1_000 };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'expired';
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/**
 * Caches verified tokens by a number from the end of the signature, which is faster to look up than text; a hit is then
 * compared in full. Of two tokens with one number the newer stays; the other is verified again. First in, first out: all
 * tokens live equally long, so the oldest is also the first to expire.
 */
function createCache(entriesMax: number) {
  const entries = new Map<number, Verified>();
  return {
    get(token: string) {
      const entry = entries.get(slotOf(token));
      return entry?.token === token ? entry : undefined;
    },
    add(entry: Verified) {
      if (entries.size >= entriesMax) {
        for (const oldest of entries.keys()) {
          entries.delete(oldest);
          break;
        }
      }
      entries.set(slotOf(entry.token), entry);
    },
  };
}

/** Nearly 30 bits of the signature: five base64url characters, skipping the last one, which has fewer bits. */
function slotOf(token: string): number {
  let slot = 0;
  const end = token.length - 1;
  for (let i = end - 5; i < end; i++) slot = (slot << 6) | (token.charCodeAt(i) & 0x3f);
  return slot;
}

/** The same ASCII text as one flat string: V8 compares concatenated strings much more slowly. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
