/** Runs are counted by quarter of an hour, so that they can be added up for the days of every time zone. */
export const RUN_SLOT_MS = 15 * 60_000;

export function runSlotOf(ms: number): number {
  return Math.floor(ms / RUN_SLOT_MS);
}
