/** The header has whole seconds, and an answer takes a while: smaller differences say nothing. */
const SHIFT_MIN_MS = 5_000;

let aheadMs = 0;
let listener = () => {};

/** Takes the time of the server from an answer (RFC 9110, 6.6.1): its own times are relative to that clock. */
export function noteServerTime(date: string | null): void {
  const nowAheadMs = Date.parse(date ?? '') - Date.now();
  if (!(Math.abs(nowAheadMs - aheadMs) >= SHIFT_MIN_MS)) return;
  aheadMs = nowAheadMs;
  listener();
}

/** The time now by the server's clock, in milliseconds; by the browser's before the first answer. */
export const serverNow = (): number => Date.now() + aheadMs;

/** Called when the clock of the server turns out to be another than was thought. */
export function onShift(call: () => void): void {
  listener = call;
}
