/** Entries checked for idleness per new one: more than one, so that idle entries go faster than new ones come. */
const SWEEP_STEP = 4;
const SWEEP_STEP_WHEN_FULL = 64;

export interface BoundedTable<T> {
  /** The key's entry, or a new one; a new key without room of its own starts from the shared entry. */
  get(key: string): T;
  set(key: string, value: T): void;
  size(): number;
}

/**
 * A map that forgets only idle entries. When all are busy, further keys share one entry: a flood of keys cannot grow
 * the memory, and cannot reset what any key has used.
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
