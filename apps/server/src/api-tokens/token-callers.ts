import type { FoundToken, TokenCallers } from '../operators/operator-guard.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import { NO_SECOND_FACTOR } from '../platform/http/step-up.ts';
import type { Platform } from '../platform/platform.ts';
import { readScopes, verdictOf } from './read-token.ts';
import { hashApiSecret, isSameHash } from './secrets.ts';
import { findTokenByHash, type MadeToken, touchApiToken } from './store.ts';

/** Resolution of a token's last use, in milliseconds. */
const USE_STEP_MS = 60_000;

/** Finds the caller of an API token: a separate identity, with no more rights than its creator has now. */
export function createTokenCallers(
  platform: Platform,
  /** Permanent revocations: a row that was put back to an earlier state stays revoked. */
  journal: { has(kind: 'api_token', id: string): boolean },
): TokenCallers {
  const { database, now } = platform;

  async function recordUse({ id, last_used_at }: MadeToken): Promise<void> {
    const nowMs = now();
    const unlessAfterMs = nowMs - USE_STEP_MS;
    if (last_used_at !== null && last_used_at > unlessAfterMs) return;
    try {
      await database.transact((tx) => touchApiToken(tx, { id, nowMs, unlessAfterMs }));
    } catch (error) {
      // Ignored: reads go on while nothing can be written.
      if (!(error instanceof DatabaseFault)) throw error;
    }
  }

  return {
    async find(bearer): Promise<FoundToken> {
      const secretHash = hashApiSecret(bearer);
      const row = secretHash === null ? null : await findTokenByHash(database.read, secretHash);
      if (!row || secretHash === null || !isSameHash(row.secret_hash, secretHash)) return INVALID;
      if (journal.has('api_token', row.id)) return INVALID;
      const verdict = verdictOf(row, now());
      if (verdict.state === 'expired') return { ok: false, code: 'access_token_expired' };
      if (verdict.state !== 'active') return INVALID;
      await recordUse(row);
      return {
        ok: true,
        caller: {
          operatorId: row.operator_id,
          username: `${row.maker_name}/${row.label}`,
          role: row.role,
          groups: verdict.groups,
          // No session has this id.
          sessionId: row.id,
          secondFactor: NO_SECOND_FACTOR,
          token: { id: row.id, scopes: readScopes(row.scopes), expiresAtMs: row.expires_at },
        },
      };
    },
  };
}

const INVALID = { ok: false, code: 'access_token_invalid' } as const;
