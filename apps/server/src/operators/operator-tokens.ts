import { createSecretKey } from 'node:crypto';
import { Uuid } from '@tidegate/protocol/scalars';
import { errors, jwtVerify, SignJWT } from 'jose';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Clock } from '../platform/clock.ts';

/** Life of an operator's token and session, in seconds. */
export const SESSION_LIFETIME_SECONDS = 8 * 3_600;
const ISSUER = 'tidegate';
const AUDIENCE = 'operator';

const Claims = Compile(Type.Object({ sub: Uuid, sid: Uuid }));

export type VerifiedOperatorToken =
  | { ok: true; operatorId: string; sessionId: string }
  | { ok: false; code: 'access_token_invalid' | 'access_token_expired' };

export interface OperatorTokens {
  issue(claims: { operatorId: string; sessionId: string }): Promise<string>;
  /** Signature, algorithm, issuer, audience and time; whether the session still lives is in the database. */
  verify(token: string): Promise<VerifiedOperatorToken>;
}

/** ADMIN_JWT: HS256 with a key of its own, so that no agent's token ever passes for an operator's. */
export function createOperatorTokens({ secret, now }: { secret: Buffer; now: Clock }): OperatorTokens {
  const key = createSecretKey(secret);
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
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          audience: AUDIENCE,
          requiredClaims: ['exp', 'iat'],
          currentDate: new Date(now()),
        });
        if (!Claims.Check(payload)) return { ok: false, code: 'access_token_invalid' };
        return { ok: true, operatorId: payload.sub, sessionId: payload.sid };
      } catch (error) {
        if (error instanceof errors.JWTExpired) return { ok: false, code: 'access_token_expired' };
        if (error instanceof errors.JOSEError) return { ok: false, code: 'access_token_invalid' };
        throw error;
      }
    },
  };
}
