/** Whether this run is the long lane (TIDEGATE_LONG=1): it also has what shows a rule again in another shape, and takes seconds for it. */
export const isLong = process.env.TIDEGATE_LONG === '1';

/** All cases in the long lane, and the first ones otherwise. */
export function firstOf<T>(count: number, cases: readonly T[]): readonly T[] {
  return isLong ? cases : cases.slice(0, count);
}
