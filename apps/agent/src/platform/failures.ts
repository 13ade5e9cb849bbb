import type { ProblemCode } from '@tidegate/protocol/problems';

/** The three errors that end the polling loop (specification, section 7). */
export type TerminalError = 'ErrMachineMismatch' | 'ErrRefreshTokenInvalid' | 'ErrUnauthorized';

/** Why a call failed. */
export type Failure =
  /** The loop stops; a retry would be useless or harmful. */
  | { kind: 'terminal'; error: TerminalError; detail: string }
  /** Anything temporary: no connection, a proxy's page, a busy server. */
  | { kind: 'retryable'; detail: string; retryAfterMs: number | null }
  /** The server understood and said no to this one request. */
  | { kind: 'rejected'; code: ProblemCode; status: number; detail: string }
  /** The local disk failed: the process exits and restarts clean. */
  | { kind: 'storage'; detail: string };

export type Outcome<T> = { ok: true; value: T } | { ok: false; failure: Failure };

/** Instructions for the operator, printed when the agent stops. */
export const OPERATOR_ADVICE: Record<TerminalError, string> = {
  ErrMachineMismatch:
    'The server knows this agent on another machine. If this host was rebuilt or its machine id changed, rebind the ' +
    'agent in the console and start it again. If its config.json was copied here from another host, delete it and ' +
    'enrol this host with its own registration token.',
  ErrRefreshTokenInvalid:
    'The refresh token is no longer good: it expired, was revoked, or was used twice (a copied config.json, a restored ' +
    'snapshot). Look at the security events of this agent, revoke it in the console, and enrol it again.',
  ErrUnauthorized:
    'The server refuses an access token that it has just issued. Look at the server log and its SERVICE_JWT_SECRET ' +
    '(all replicas need the same), then start the agent again.',
};

/** The failure of a write to the own disk; null where it is written. */
export function storageFailure(saved: { ok: true } | { ok: false; detail: string }): Failure | null {
  return saved.ok ? null : { kind: 'storage', detail: saved.detail };
}

/** Makes a failure that may pass. */
export function retryable(
  detail: string,
  retryAfterMs: number | null = null,
): { ok: false; failure: Failure } {
  return { ok: false, failure: { kind: 'retryable', detail, retryAfterMs } };
}

/** Makes a failure that ends the loop. */
export function terminal(error: TerminalError, detail: string): { ok: false; failure: Failure } {
  return { ok: false, failure: { kind: 'terminal', error, detail } };
}

/** One line that says what happened, and for a terminal error what to do. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case 'terminal':
      return `${failure.error}: ${failure.detail}. ${OPERATOR_ADVICE[failure.error]}`;
    case 'rejected':
      return `the server refused the request (${failure.status} ${failure.code}: ${failure.detail})`;
    case 'retryable':
    case 'storage':
      return failure.detail;
  }
}
