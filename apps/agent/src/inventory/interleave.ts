/** Urgent items for each other one, while there are both. */
const URGENT_PER_OTHER = 3;

/** Urgent items first, with every fourth place for another: a stream of urgent ones never starves the rest. */
export function interleave<T>(items: readonly T[], isUrgent: (item: T) => boolean): T[] {
  const urgent = items.filter(isUrgent);
  const others = items.filter((item) => !isUrgent(item));
  const ordered: T[] = [];
  while (urgent.length + others.length > 0) {
    ordered.push(...urgent.splice(0, URGENT_PER_OTHER), ...others.splice(0, 1));
  }
  return ordered;
}
