/** Entries looked at for idleness when a new one comes: more than one, so that idle ones go faster than new ones come. */
const SWEEP_STEP = 4;
const SWEEP_STEP_WHEN_FULL = 64;

export interface BoundedTable<T> {
  /** What is kept of the key, or a new entry; where there was no room for keys, new ones begin with what these share. */
  get(key: string): T;
  set(key: string, value: T): void;
  size(): number;
}

/**
 * A map that forgets idle entries alone. Where all are busy, keys for which there is no room share one entry, so that
 * a flood of keys bounds the memory and frees nobody from what it has used.
 */
export function createBoundedTable<T>({
  max,
  isIdle,
  create,
}: {
  max: number;
  isIdle: (value: T) => boolean;
  create: () => T;
}): BoundedTable<T> {
  const entries = new Map<string, T>();
  let overflow: T | null = null;
  let hand = entries.entries();

  function sweep(steps: number): void {
    for (let i = 0; i < steps; i++) {
      const next = hand.next();
      if (next.done) {
        hand = entries.entries();
        return;
      }
      const [key, value] = next.value;
      if (isIdle(value)) entries.delete(key);
    }
  }

  return {
    get: (key) => entries.get(key) ?? overflow ?? create(),
    set(key, value) {
      if (!entries.has(key)) {
        sweep(SWEEP_STEP);
        if (entries.size >= max) sweep(SWEEP_STEP_WHEN_FULL);
        if (entries.size >= max) {
          overflow = value;
          return;
        }
        if (overflow !== null && isIdle(overflow)) overflow = null;
      }
      entries.set(key, value);
    },
    size: () => entries.size,
  };
}
