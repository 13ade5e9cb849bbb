export const DAY_MS = 86_400_000;
/** Younger events are never removed, whoever asks. */
export const KEPT_DAYS_MIN = 30;
/** A run moves the log's beginning by at most this much: a clock that is wrong for an hour costs a day. */
const STEP_MS = DAY_MS;

export interface PruneCutoffs {
  /** Younger events always stay. */
  keptSinceMs: number;
  /** How far this run may go, if a checkpoint is there. */
  stepMs: number;
}

/** How far a run may prune; null if even the oldest event is young enough. */
export function pruneCutoffs(facts: {
  oldestMs: number;
  nowMs: number;
  retentionDays: number;
}): PruneCutoffs | null {
  const { oldestMs, nowMs, retentionDays } = facts;
  const keptSinceMs = nowMs - retentionDays * DAY_MS;
  if (oldestMs > keptSinceMs) return null;
  return { keptSinceMs, stepMs: Math.min(keptSinceMs, oldestMs + STEP_MS) };
}
