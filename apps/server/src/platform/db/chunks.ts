import { compareText } from '../compare-text.ts';

/** Values in one `IN`, or rows in one insert; SQLite binds at most 32,766 values in a statement. */
const STATEMENT_ITEMS = 500;

/** Splits items, in order, into parts that fit one statement. */
export function chunks<T>(items: readonly T[], size = STATEMENT_ITEMS): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < items.length; i += size) parts.push(items.slice(i, i + size));
  return parts;
}

/** Splits items, in order, into parts up to this weight; a heavier item is a part by itself. */
export function* weighedChunks<T>(
  items: Iterable<T>,
  { weigh, most }: { weigh: (item: T) => number; most: number },
): Generator<T[]> {
  let part: T[] = [];
  let weight = 0;
  for (const item of items) {
    const added = weigh(item);
    if (part.length > 0 && weight + added > most) {
      yield part;
      part = [];
      weight = 0;
    }
    part.push(item);
    weight += added;
  }
  if (part.length > 0) yield part;
}

/** Pairs of name and version that one statement compares. */
const STATEMENT_PAIRS = 4_096;

/**
 * Parts for statements that take a list of names and a list of versions. The database compares all pairs of the two
 * lists, so their product is bounded. The result may contain pairs that were not asked for.
 */
export function pairChunks<T extends { readonly name: string; readonly version: string }>(
  items: readonly T[],
): T[][] {
  const sorted = items.toSorted((a, b) => compareText(a.version, b.version) || compareText(a.name, b.name));
  const parts: T[][] = [];
  let names = new Set<string>();
  let versions = new Set<string>();
  for (const item of sorted) {
    const part = parts.at(-1);
    const pairs = names.add(item.name).size * versions.add(item.version).size;
    if (part && part.length < STATEMENT_ITEMS && pairs <= STATEMENT_PAIRS) {
      part.push(item);
    } else {
      parts.push([item]);
      [names, versions] = [new Set([item.name]), new Set([item.version])];
    }
  }
  return parts;
}
