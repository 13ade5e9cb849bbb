/** How long after an input what the page asks counts as asked by the person, in milliseconds. */
const ATTENDED_MS = 60_000;
const INPUTS = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const;

let lastInputAt = 0;

/** Notes that a person is there, until the returned function is called. */
export function watchInputs(target: Pick<Window, 'addEventListener' | 'removeEventListener'>): () => void {
  const note = () => {
    lastInputAt = Date.now();
  };
  note();
  for (const input of INPUTS) target.addEventListener(input, note, { capture: true, passive: true });
  return () => {
    for (const input of INPUTS) target.removeEventListener(input, note, { capture: true });
  };
}

/** Whether somebody was at the page within the last minute: else it asks by itself, and keeps no session alive. */
export function isAttended(nowMs = Date.now()): boolean {
  return nowMs - lastInputAt < ATTENDED_MS;
}
