/** Values in one `IN`, or rows in one insert; SQLite binds at most 32,766 values in a statement. */
const STATEMENT_ITEMS = 500;

/** The items in their order, in parts that one statement takes. */
export function chunks<T>(items: readonly T[], size = STATEMENT_ITEMS): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < items.length; i += size) parts.push(items.slice(i, i + size));
  return parts;
}
