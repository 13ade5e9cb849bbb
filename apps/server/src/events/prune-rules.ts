const DAY_MS = 86_400_000;
/** A run moves the beginning of the log by at most this much of it: a clock that is wrong for an hour costs a day. */
const STEP_MS = DAY_MS;

export interface PruneCutoffs {
  /** What is younger stays, whatever else. */
  keptSinceMs: number;
  /** How far this run is to go, where a checkpoint is there. */
  stepMs: number;
}

/** Up to when a run may prune; null where even the oldest event is young enough. */
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
