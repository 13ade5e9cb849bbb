const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The share of its lifetime that a certificate has left when it is renewed. */
const SHARE_LEFT = 1 / 3;
/** Renewals are spread over this share of the lifetime, before that time. */
const SHARE_SPREAD = 1 / 30;

/**
 * When a certificate is renewed. The spread comes from its fingerprint, so that a restart changes nothing, and servers
 * that were set up together do not renew together.
 */
export function renewAtMs(certificate: {
  notBeforeMs: number;
  notAfterMs: number;
  /** Hex. */
  fingerprint: string;
}): number {
  const { notBeforeMs, notAfterMs, fingerprint } = certificate;
  const lifetimeMs = notAfterMs - notBeforeMs;
  const spread = Number.parseInt(fingerprint.slice(0, 8), 16) / 2 ** 32;
  return notAfterMs - lifetimeMs * (SHARE_LEFT + SHARE_SPREAD * spread);
}

/** Pauses after the first failure, the second, and so on; the last one repeats. */
const PAUSES_MS = [5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS];
/** Longest pause that an ACME server may ask for. Let's Encrypt counts over a week at most. */
const ASKED_MAX_MS = 7 * DAY_MS;
/** The share of a pause that is added to it. */
const SHARE_JITTER = 1 / 4;

/**
 * When the next attempt follows a failed one. The first hour has at most three, below the five failures that Let's
 * Encrypt allows. A time that the ACME server asks for can only lengthen the pause, and jitter as well.
 */
export function retryAtMs(failure: {
  nowMs: number;
  /** Failures in a row, this one included. */
  failures: number;
  /** What the ACME server asked for. */
  retryAfterMs: number | null;
  /** From 0 to 1. */
  jitter: number;
}): number {
  const { nowMs, failures, retryAfterMs, jitter } = failure;
  const ownMs = PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1] ?? 0;
  const pauseMs = Math.max(ownMs, Math.min(retryAfterMs ?? 0, ASKED_MAX_MS));
  return nowMs + pauseMs * (1 + SHARE_JITTER * jitter);
}

/** Whether a pause that ends at `atMs` is over. One that ends later than any pause can is from a clock that was ahead. */
export function isPauseOver({ nowMs, atMs }: { nowMs: number; atMs: number }): boolean {
  return nowMs >= atMs || atMs - nowMs > ASKED_MAX_MS * (1 + SHARE_JITTER);
}
