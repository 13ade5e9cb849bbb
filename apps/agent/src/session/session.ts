import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { ConfigFile } from '../identity/config-file.ts';
import { type Failure, type Outcome, retryable, terminal } from '../platform/failures.ts';
import type { Renewer } from './renew.ts';
import type { ServerAnswer, ServerClient, ServerRequest } from './server-client.ts';

/** A token is renewed when half of its life, and up to this much more by chance, is gone. */
const RENEWAL_JITTER = 0.2;
/** Least time from a renewal that did not succeed to the next one. */
const RENEWAL_RETRY_MS = 30_000;

export interface SessionDependencies {
  config: ConfigFile;
  client: ServerClient;
  renewer: Renewer;
  machineId: string;
  /** Wall clock, never behind the last signed server time. */
  nowMs: () => number;
  elapsedMs: () => number;
  random: () => number;
}

/** Requests of an enrolled agent: access token, machine id, renewal when it is due or asked for. */
export interface Session {
  call(request: ServerRequest): Promise<Outcome<{ status: number; body: unknown }>>;
}

/** Opens the session of a configuration; the tokens are read from it at every call. */
export function createSession(dependencies: SessionDependencies): Session {
  const { config, client, renewer, elapsedMs, random } = dependencies;
  const jitter = random() * RENEWAL_JITTER;
  let dueAtMs = elapsedMs() + msUntilHalfLife(config.current().access_token, dependencies.nowMs(), jitter);

  /** The last renewal, if it failed in a way that passes: none follows it before `untilMs`. */
  let held: { failure: Extract<Failure, { kind: 'retryable' }>; untilMs: number } | null = null;
  /** An access token that the server has refused: nothing is asked with it again. */
  let refused: string | null = null;
  async function renew(): Promise<Failure | null> {
    if (held !== null && elapsedMs() < held.untilMs) {
      return { ...held.failure, retryAfterMs: held.untilMs - elapsedMs() };
    }
    const renewed = await renewer.renew();
    if (renewed.ok) {
      held = null;
      dueAtMs = elapsedMs() + renewed.value.lifetimeMs * (0.5 + random() * RENEWAL_JITTER);
      return null;
    }
    const { failure } = renewed;
    if (failure.kind !== 'retryable') return failure;
    dueAtMs = elapsedMs() + Math.max(RENEWAL_RETRY_MS, failure.retryAfterMs ?? 0);
    held = { failure, untilMs: dueAtMs };
    return failure;
  }
  function send(request: ServerRequest): Promise<ServerAnswer> {
    const authorization = `Bearer ${config.current().access_token}`;
    const headers = { ...request.headers, authorization, [MACHINE_ID_HEADER]: dependencies.machineId };
    return client.request({ ...request, headers });
  }

  /** If early renewal fails, the current token is used until the server refuses it. */
  async function renewIfDue(): Promise<Failure | null> {
    const isRefused = config.current().access_token === refused;
    if (elapsedMs() < dueAtMs && !isRefused) return null;
    const failure = await renew();
    return failure?.kind === 'retryable' && !isRefused ? null : failure;
  }
  async function call(request: ServerRequest): Promise<Outcome<{ status: number; body: unknown }>> {
    const early = await renewIfDue();
    if (early !== null) return { ok: false, failure: early };
    const used = config.current().access_token;
    let answer = await send(request);
    if (isTokenRefused(answer) && config.current().access_token !== used) {
      // Another request renewed the token meanwhile.
      answer = await send(request);
    }
    if (!isTokenRefused(answer)) return toOutcome(answer);
    refused = config.current().access_token;
    const failure = await renew();
    if (failure !== null) return { ok: false, failure };
    const last = await send(request);
    if (isTokenRefused(last)) return terminal('ErrUnauthorized', 'a fresh access token was refused');
    return toOutcome(last);
  }

  return { call };
}

function isTokenRefused(answer: ServerAnswer): boolean {
  return answer.kind === 'problem' && answer.status === 401;
}

function toOutcome(answer: ServerAnswer): Outcome<{ status: number; body: unknown }> {
  switch (answer.kind) {
    case 'ok':
      return { ok: true, value: { status: answer.status, body: answer.body } };
    case 'unreachable':
      return retryable(answer.detail, answer.retryAfterMs);
    case 'problem': {
      const { code, status, detail } = answer;
      if (code === 'unauthorized' || code === 'MACHINE_ID_MISMATCH')
        return terminal('ErrMachineMismatch', detail);
      const passes = status === 429 || status >= 500 || code === 'binding_pending';
      if (passes) return retryable(`${status} ${code}: ${detail}`, answer.retryAfterMs);
      return { ok: false, failure: { kind: 'rejected', code, status, detail } };
    }
  }
}

const TokenTimes = Type.Object({ iat: Type.Number(), exp: Type.Number() });

/** Zero when the token is past it; an unreadable token is used until the server refuses it. */
function msUntilHalfLife(accessToken: string, nowMs: number, jitter: number): number {
  const claims = parseStrictJson(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url'));
  if (!claims.ok || !Check(TokenTimes, claims.value)) return Number.POSITIVE_INFINITY;
  const { iat, exp } = claims.value;
  const waitMs = (exp - iat) * (0.5 + jitter) * 1_000;
  // Whatever this host's clock says (RT18): never before now, and never later than for a token issued now.
  return Math.min(waitMs, Math.max(0, iat * 1_000 + waitMs - nowMs));
}
