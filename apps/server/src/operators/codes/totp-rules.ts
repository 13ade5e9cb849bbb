import { Secret, TOTP } from 'otpauth';

/** RFC 6238 as authenticator apps implement it: SHA-1, six digits, thirty seconds. */
const STEP_MS = 30_000;
const FORM = { algorithm: 'SHA1', digits: 6, period: STEP_MS / 1_000 } as const;
/** Steps accepted before and after the present one: clocks differ, and people type slowly. */
const WINDOW_STEPS = 1;
/** Bytes of a secret: the output length of SHA-1 (RFC 4226, section 4). */
export const TOTP_SECRET_BYTES = 20;

/** Consecutive wrong codes allowed before waiting; only the login limit counts them. */
const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 30_000;
const WAIT_MAX_MS = 3_600_000;

/** The step of the code, among the present one and its neighbours; null when it matches none. */
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

/** The secret as base32 for typing, and as the URI of a QR code. */
export function describeTotp({ secret, username }: { secret: Uint8Array; username: string }): {
  base32: string;
  uri: string;
} {
  const known = secretOf(secret);
  const totp = new TOTP({ ...FORM, issuer: 'Tidegate', label: username, secret: known });
  return { base32: known.base32, uri: totp.toString() };
}

/** Until when codes are not checked after this many wrong ones: this bounds guessing over a million codes. */
export function blockedUntilMs(state: { failures: number; lastFailedAtMs: number | null }): number {
  if (state.lastFailedAtMs === null || state.failures < FREE_FAILURES) return 0;
  const wait = FIRST_WAIT_MS * 2 ** Math.min(state.failures - FREE_FAILURES, 16);
  return state.lastFailedAtMs + Math.min(wait, WAIT_MAX_MS);
}

function secretOf(bytes: Uint8Array): Secret {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer });
}
