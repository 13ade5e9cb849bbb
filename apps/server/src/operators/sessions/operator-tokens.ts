import { Uuid } from '@tidegate/protocol/scalars';
import { errors, jwtVerify, SignJWT } from 'jose';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Clock } from '../../platform/clock.ts';
import { hs256Key } from '../../platform/hs256-key.ts';

/** Life of an operator's token and session, in seconds. */
export const SESSION_LIFETIME_SECONDS = 8 * 3_600;
const ISSUER = 'tidegate';
const AUDIENCE = 'operator';

const TOKEN_MAX_CHARS = 2_048;
/** Size of the cache of verified tokens. */
const VERIFIED_TOKENS_MAX = 1_000;

const Claims = Compile(Type.Object({ sub: Uuid, sid: Uuid, exp: Type.Integer() }));

type Verified = { ok: true; operatorId: string; sessionId: string };

export type VerifiedOperatorToken =
  | Verified
  | { ok: false; code: 'access_token_invalid' | 'access_token_expired' };

export interface OperatorTokens {
  issue(claims: { operatorId: string; sessionId: string }): Promise<string>;
  /** Checks signature, algorithm, issuer, audience and time; whether the session still lives is in the database. */
  verify(token: string): Promise<VerifiedOperatorToken>;
}

/** ADMIN_JWT: HS256 with a separate key, so that no agent's token passes for an operator's. */
export function createOperatorTokens({ secret, now }: { secret: Buffer; now: Clock }): OperatorTokens {
  const key = hs256Key(secret);
  const remembered = new Map<string, { answer: Verified; expiresAtMs: number }>();

  /** First in, first out: all tokens live equally long. */
  function remember(token: string, answer: Verified, expiresAtMs: number): Verified {
    const [oldest] = remembered.keys();
    if (oldest !== undefined && remembered.size >= VERIFIED_TOKENS_MAX) remembered.delete(oldest);
    remembered.set(token, { answer, expiresAtMs });
    return answer;
  }

  return {
    async issue({ operatorId, sessionId }) {
      const issuedAtSeconds = Math.floor(now() / 1_000);
      return new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(operatorId)
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + SESSION_LIFETIME_SECONDS)
        .sign(key);
    },
    async verify(token) {
      const known = remembered.get(token);
      if (known && now() < known.expiresAtMs) return known.answer;
      if (token.length > TOKEN_MAX_CHARS) return { ok: false, code: 'access_token_invalid' };
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          audience: AUDIENCE,
          requiredClaims: ['exp', 'iat'],
          currentDate: new Date(now()),
        });
        if (!Claims.Check(payload)) return { ok: false, code: 'access_token_invalid' };
        const answer = { ok: true, operatorId: payload.sub, sessionId: payload.sid } as const;
        return remember(token, answer, payload.exp * 1_000);
      } catch (error) {
        if (error instanceof errors.JWTExpired) return { ok: false, code: 'access_token_expired' };
        if (error instanceof errors.JOSEError) return { ok: false, code: 'access_token_invalid' };
        throw error;
      }
    },
  };
}
