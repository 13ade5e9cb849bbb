import type { ChainPart, ChainVerifier } from './verify-chain.ts';
import type { PartOrder } from './verify-part.ts';

/** Rows of a part: enough that its order costs nothing, few enough that progress shows. */
export const PART_ROWS = 20_000;
/** Parts that one verifier has before it: the next begins at once. */
const AHEAD = 2;

/** Verifies parts one after the other, beside the others; null if the part is not right. */
export type PartVerifier = (order: PartOrder) => Promise<ChainPart | null>;

export interface PassOptions {
  verifiers: readonly PartVerifier[];
  /** Sorted positions of all pins. */
  pinned: readonly number[];
  /** Position of the last row to pass. */
  until: number;
  partRows?: number | undefined;
  onPassed?: (position: number) => void;
}

/**
 * Passes rows that others verify in parts at the same time, and stops before the first part that is not right. The parts
 * are put together in order, so that the verifier knows what it would know after each of their rows.
 */
export async function passParts(verifier: ChainVerifier, options: PassOptions): Promise<void> {
  const { verifiers, pinned, until, partRows = PART_ROWS, onPassed } = options;
  const asked: Promise<ChainPart | null>[] = [];
  let next = verifier.last().position;
  let turn = 0;
  function ask(): void {
    while (next < until && asked.length < verifiers.length * AHEAD) {
      const order = { after: next, until: Math.min(until, next + partRows) };
      const within = pinned.filter((position) => position > order.after && position <= order.until);
      const verify = verifiers[turn++ % verifiers.length];
      if (verify) asked.push(verify({ ...order, pinned: within }));
      next = order.until;
    }
  }
  for (ask(); asked.length > 0; ask()) {
    const part = await asked.shift();
    if (!part || !verifier.pass(part)) break;
    onPassed?.(part.to.position);
  }
}
