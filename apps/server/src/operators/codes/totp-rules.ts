import { Secret, TOTP } from 'otpauth';

/** RFC 6238 as authenticator apps expect it: SHA-1, six digits, thirty seconds. */
const STEP_MS = 30_000;
const FORM = { algorithm: 'SHA1', digits: 6, period: STEP_MS / 1_000 } as const;
/** Steps before and after the present one that are taken: clocks differ, and people type slowly. */
const WINDOW_STEPS = 1;
/** Bytes of a secret: as many as SHA-1 gives (RFC 4226, section 4). */
export const TOTP_SECRET_BYTES = 20;

/** Wrong codes in a row that cost nothing but the limit of logins. */
const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 30_000;
const WAIT_MAX_MS = 3_600_000;

/** The step that the code is of, among the present one and its neighbours; null where it is of none. */
export function matchStep({
  secret,
  code,
  nowMs,
}: {
  secret: Uint8Array;
  code: string;
  nowMs: number;
}): number | null {
  const totp = { ...FORM, secret: secretOf(secret), token: code, timestamp: nowMs, window: WINDOW_STEPS };
  const delta = TOTP.validate(totp);
  return delta === null ? null : Math.floor(nowMs / STEP_MS) + delta;
}

/** The secret as people type it and as apps read it from a QR code. */
export function describeTotp({ secret, username }: { secret: Uint8Array; username: string }): {
  base32: string;
  uri: string;
} {
  const known = secretOf(secret);
  const totp = new TOTP({ ...FORM, issuer: 'Tidegate', label: username, secret: known });
  return { base32: known.base32, uri: totp.toString() };
}

/** Until when no code is looked at, after so many wrong ones: a guess in a million is not made a million times. */
export function blockedUntilMs(state: { failures: number; lastFailedAtMs: number | null }): number {
  if (state.lastFailedAtMs === null || state.failures < FREE_FAILURES) return 0;
  const wait = FIRST_WAIT_MS * 2 ** Math.min(state.failures - FREE_FAILURES, 16);
  return state.lastFailedAtMs + Math.min(wait, WAIT_MAX_MS);
}

function secretOf(bytes: Uint8Array): Secret {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer });
}
