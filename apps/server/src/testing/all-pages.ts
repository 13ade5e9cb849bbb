import { expect } from 'vitest';

interface PageOf<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** More pages than any list of a test has. */
const PAGES_MAX = 50;

/** The items of all pages of a list, asked for with `&cursor=…` at the end of the query; fails for a list that never ends. */
export async function allPages<T>(pageOf: (cursor: string) => Promise<PageOf<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor = '';
  for (let pages = 0; ; pages++) {
    expect(pages, 'pages without an end').toBeLessThan(PAGES_MAX);
    const page = await pageOf(cursor);
    items.push(...page.items);
    if (page.next_cursor === null) return items;
    cursor = `&cursor=${page.next_cursor}`;
  }
}
