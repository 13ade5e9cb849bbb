import type { Clock } from './clock.ts';

/** Share of the time that reading may take. */
const READING_SHARE = 0.01;

/**
 * Reuses an answer for a hundred times as long as it took to read, at most `maxMs`: a cheap one is read every time, a costly
 * one takes one percent of the time. Failures are not reused; neither is an answer from the future (a clock set back).
 */
export function reuseCostlyAnswer<T>({
  read,
  now,
  maxMs,
}: {
  read: () => Promise<T>;
  now: Clock;
  maxMs: number;
}): () => Promise<T> {
  let last: { readonly answer: T; readonly atMs: number; readonly untilMs: number } | null = null;
  return async () => {
    const startMs = now();
    if (last && startMs >= last.atMs && startMs < last.untilMs) return last.answer;
    const answer = await read();
    const atMs = now();
    last = { answer, atMs, untilMs: atMs + Math.min(maxMs, (atMs - startMs) / READING_SHARE) };
    return answer;
  };
}
