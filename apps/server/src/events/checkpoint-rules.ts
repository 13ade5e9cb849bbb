/** A checkpoint is signed after so many events… */
export const CHECKPOINT_ROWS = 1_000;
/** …or this long after the last one, whichever is first. */
export const CHECKPOINT_INTERVAL_MS = 5 * 60_000;

/** Whether to sign the head now, which no checkpoint names yet; immediately after a restore. */
export function checkpointIsDue(facts: {
  head: { position: number };
  newest: { position: number; epoch: number; created_at: number } | null;
  epoch: number;
  nowMs: number;
}): boolean {
  const { head, newest, epoch, nowMs } = facts;
  if (newest === null || newest.epoch !== epoch) return true;
  if (head.position - newest.position >= CHECKPOINT_ROWS) return true;
  // A clock that was set back must not delay the next checkpoint until it has caught up.
  const ageMs = nowMs - newest.created_at;
  return ageMs >= CHECKPOINT_INTERVAL_MS || ageMs < 0;
}
