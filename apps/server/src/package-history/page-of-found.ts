import type { Position } from '../platform/db/keyset.ts';
import { lowered } from '../platform/db/like.ts';
import { type CursorOf, pageOfRows } from '../platform/http/sorted-lists.ts';

export function isMeant(
  { name, ecosystem }: { name: string; ecosystem: string },
  filter: { q?: string | undefined; ecosystem?: string | undefined },
): boolean {
  if (filter.ecosystem !== undefined && ecosystem !== filter.ecosystem) return false;
  return filter.q === undefined || lowered(name).includes(lowered(filter.q));
}

/** A page of rows that are all at hand, in the order of their positions. */
export function pageAfter<Row>(
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
  const sorted = placed.toSorted((a, b) => compare(a.at, b.at));
  const rest = after === null ? sorted : sorted.filter(({ at }) => compare(at, after) > 0);
  return pageOfRows(
    rest.map(({ row }) => row),
    args,
  );
}

function compare(a: Position, b: Position): number {
  const [left, right] = [
    [...a.key, a.id],
    [...b.key, b.id],
  ];
  for (const [i, value] of left.entries()) {
    const [one, other] = [String(value), String(right[i])];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
