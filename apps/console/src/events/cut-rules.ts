const LISTS = [
  ['updates', 'update_count'],
  ['blocked', 'count'],
] as const;

/** An event names the first of many updates: how many, and of how many; null if it names them all. */
export function cutOf(content: unknown): { listed: number; total: number } | null {
  if (typeof content !== 'object' || content === null) return null;
  const members = new Map<string, unknown>(Object.entries(content));
  for (const [list, count] of LISTS) {
    const [items, total] = [members.get(list), members.get(count)];
    if (Array.isArray(items) && typeof total === 'number' && items.length < total)
      return { listed: items.length, total };
  }
  return null;
}
