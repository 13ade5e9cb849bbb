import { compareText } from '../platform/compare-text.ts';
import type { Position } from '../platform/db/keyset.ts';
import { lowered } from '../platform/db/like.ts';
import { type CursorOf, pageOfRows } from '../platform/http/sorted-lists.ts';
import { sortInTurns } from '../platform/turns.ts';

export function isMeant(
  { name, ecosystem }: { name: string; ecosystem: string },
  filter: { q?: string | undefined; ecosystem?: string | undefined },
): boolean {
  if (filter.ecosystem !== undefined && ecosystem !== filter.ecosystem) return false;
  return filter.q === undefined || lowered(name).includes(lowered(filter.q));
}

/** A page of rows that are all at hand, in the order of their positions. */
export async function pageAfter<Row>(
  rows: readonly Row[],
  {
    after,
    ...args
  }: {
    after: Position | null;
    limit: number;
    of: CursorOf;
    positionOf: (row: Row) => Position;
  },
) {
  const placed = rows.map((row) => ({ row, at: args.positionOf(row) }));
  const sorted = await sortInTurns(placed, (a, b) => compare(a.at, b.at));
  const rest = after === null ? sorted : sorted.filter(({ at }) => compare(at, after) > 0);
  return pageOfRows(
    rest.map(({ row }) => row),
    args,
  );
}

function compare(a: Position, b: Position): number {
  for (const [i, value] of a.key.entries()) {
    const order = compareText(String(value), String(b.key[i]));
    if (order !== 0) return order;
  }
  return compareText(a.id, b.id);
}
