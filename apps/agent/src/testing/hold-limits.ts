import { vi } from 'vitest';

/** Lets the limits of programs pass when a test says so, not while a busy machine still starts them. */
export function holdLimits() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  return {
    /** Waits until the program is where it has to be, and lets its limit pass. */
    async passOnce(isThere: () => boolean, limitMs: number): Promise<void> {
      while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(limitMs);
    },
    [Symbol.dispose]: () => void vi.useRealTimers(),
  };
}
