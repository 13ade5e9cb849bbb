/** Turns that are under way at once, at most. */
const AT_ONCE = 32;

/**
 * Takes turns for so many seconds, as fast as they end or at a pace of so many a second. Returns how long each took, in milliseconds.
 */
export async function takeTurns(
  { seconds, perSecond }: { seconds: number; perSecond: number },
  turn: () => Promise<void>,
): Promise<number[]> {
  const latenciesMs: number[] = [];
  const beginMs = performance.now();
  const endMs = beginMs + seconds * 1_000;
  const everyMs = (AT_ONCE * 1_000) / perSecond;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, n) => {
      let nextMs = beginMs + (everyMs * n) / AT_ONCE;
      while (Math.max(nextMs, performance.now()) < endMs) {
        const waitMs = nextMs - performance.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        const startMs = performance.now();
        await turn();
        latenciesMs.push(performance.now() - startMs);
        nextMs += everyMs;
      }
    }),
  );
  return latenciesMs;
}
