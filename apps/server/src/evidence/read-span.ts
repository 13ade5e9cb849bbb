import type { Span } from './store.ts';

/** Longest span of one bundle, in days. */
const SPAN_MAX_DAYS = 3_660;
/** Where it is not said when it begins. */
const SPAN_DAYS = 90;
const DAY_MS = 86_400_000;
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/;

export type ReadSpan =
  | { readonly ok: true; readonly span: Span }
  | { readonly ok: false; readonly fault: string };

/** A span in UTC of days or times; it ends now, and begins 90 days before, unless it is said when. */
export function readSpan(
  { since, until }: { since: string | undefined; until: string | undefined },
  nowMs: number,
): ReadSpan {
  const untilMs = until === undefined ? nowMs : timeOf(until);
  const form = 'allowed: a day such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z, in UTC';
  if (untilMs === null) return { ok: false, fault: `until is ${JSON.stringify(until)}; ${form}` };
  const sinceMs = since === undefined ? untilMs - SPAN_DAYS * DAY_MS : timeOf(since);
  if (sinceMs === null) return { ok: false, fault: `since is ${JSON.stringify(since)}; ${form}` };
  if (untilMs > nowMs)
    return { ok: false, fault: 'until is in the future; allowed: a time up to now, or none for now' };
  if (sinceMs >= untilMs) return { ok: false, fault: 'since is not before until' };
  if (untilMs - sinceMs > SPAN_MAX_DAYS * DAY_MS)
    return { ok: false, fault: `the span is longer than ${SPAN_MAX_DAYS} days` };
  return { ok: true, span: { sinceMs, untilMs } };
}

function timeOf(text: string): number | null {
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN;
  // The engine rolls over a day that its month does not have.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text.slice(0, 10) ? null : ms;
}
