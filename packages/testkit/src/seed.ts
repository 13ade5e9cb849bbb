import { randomInt } from 'node:crypto';
import { isLong } from './lanes.ts';

/**
 * Of all that tests draw: a submission meets the cases of the one before it, and the long lane meets others each time.
 * `TIDEGATE_SEED` repeats them.
 */
export const SEED = Number(process.env.TIDEGATE_SEED ?? (isLong ? randomInt(2 ** 31) : 1));
