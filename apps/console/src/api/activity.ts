/** How long after an input requests count as the operator's own, in milliseconds. */
const ATTENDED_MS = 60_000;
const INPUTS = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const;

let lastInputAt = 0;

/** Records the operator's inputs until the returned function is called. */
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

/** Whether there was input within the last minute; without it, requests are background and keep no session alive. */
export function isAttended(nowMs = Date.now()): boolean {
  return nowMs - lastInputAt < ATTENDED_MS;
}
