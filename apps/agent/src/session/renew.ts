import { randomUUID } from 'node:crypto';
import { TokenPair } from '@tidegate/protocol/agent-api';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import { Check } from 'typebox/value';
import type { ConfigFile } from '../identity/config-file.ts';
import { type Outcome, retryable, terminal } from '../platform/failures.ts';
import { RENEW_TIMEOUT_MS, type ServerAnswer, type ServerClient } from './server-client.ts';

/** I13: an E1 without an answer may still be under way for the server's 30 s; none follows it sooner than this. */
export const RENEW_PAUSE_MS = 60_000;

export interface RenewDependencies {
  config: ConfigFile;
  client: ServerClient;
  machineId: string;
  /** Monotonic milliseconds: the wall clock may jump. */
  elapsedMs: () => number;
}

export interface Renewer {
  /** Exchanges the refresh token (E1). Concurrent calls share one request. */
  renew(): Promise<Outcome<{ lifetimeMs: number }>>;
}

/** The one place that uses the refresh token, one request at a time. */
export function createRenewer(dependencies: RenewDependencies): Renewer {
  let underWay: Promise<Outcome<{ lifetimeMs: number }>> | null = null;
  let silentSinceMs: number | null = null;

  async function renewOnce(): Promise<Outcome<{ lifetimeMs: number }>> {
    const { config, client, machineId, elapsedMs } = dependencies;
    if (silentSinceMs !== null && elapsedMs() - silentSinceMs < RENEW_PAUSE_MS) {
      const waitMs = RENEW_PAUSE_MS - (elapsedMs() - silentSinceMs);
      return retryable('the last renewal got no answer and may still be under way', waitMs);
    }
    // Before anything is sent: the id that makes a repeat the same renewal, and proof that the file can be written.
    const requestId = config.current().pending_request_id ?? randomUUID();
    const prepared = config.change({ pending_request_id: requestId });
    if (!prepared.ok) return { ok: false, failure: { kind: 'storage', detail: prepared.detail } };
    const answer = await client.request({
      method: 'POST',
      path: '/api/v1/agents/renew',
      headers: { [MACHINE_ID_HEADER]: machineId },
      body: { refresh_token: config.current().refresh_token, request_id: requestId },
      timeoutMs: RENEW_TIMEOUT_MS,
      ownConnection: true,
    });
    silentSinceMs = answer.kind === 'unreachable' ? elapsedMs() : null;
    return takeAnswer(config, answer);
  }

  return {
    renew: () => {
      underWay ??= renewOnce().finally(() => {
        underWay = null;
      });
      return underWay;
    },
  };
}

function takeAnswer(config: ConfigFile, answer: ServerAnswer): Outcome<{ lifetimeMs: number }> {
  switch (answer.kind) {
    case 'unreachable':
      return retryable(`renewal: ${answer.detail}`, answer.retryAfterMs);
    case 'problem':
      if (answer.code === 'MACHINE_ID_MISMATCH' || answer.code === 'unauthorized') {
        return terminal('ErrMachineMismatch', answer.detail);
      }
      if (answer.code === 'refresh_token_invalid') return terminal('ErrRefreshTokenInvalid', answer.detail);
      // 429, 503 and the rest never change a token's state (design reading 6).
      return retryable(`renewal: ${answer.status} ${answer.code}`, answer.retryAfterMs);
    case 'ok': {
      if (!Check(TokenPair, answer.body)) return retryable('renewal: an answer in an unknown format');
      const { access_token, refresh_token, expires_in } = answer.body;
      const saved = config.change({ access_token, refresh_token, pending_request_id: null });
      // The old token and its request id are still on disk: the next start recovers by grace.
      if (!saved.ok) return { ok: false, failure: { kind: 'storage', detail: saved.detail } };
      return { ok: true, value: { lifetimeMs: expires_in * 1_000 } };
    }
  }
}
