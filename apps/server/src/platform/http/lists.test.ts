import { describe, expect, test } from 'vitest';
import { accepts } from './first-fault.ts';
import {
  askedPage,
  cutPage,
  decodeCursor,
  encodeCursor,
  PAGE_DEFAULT,
  PAGE_MAX,
  PageQuery,
  pageLimit,
} from './lists.ts';
import { Refusal } from './refusal.ts';

describe('limit', () => {
  test.each([
    [undefined, 50],
    ['1', 1],
    ['200', 200],
    ['007', 7],
  ])('%j is %i', (limit, size) => {
    expect(pageLimit({ limit })).toBe(size);
  });

  test.each(['0', '201', '999'])('%j is refused', (limit) => {
    expect(() => pageLimit({ limit })).toThrow(Refusal);
  });

  test('has a pattern in the document that allows exactly these', () => {
    const texts = Array.from({ length: 1_000 }, (_, n) =>
      [1, 2, 3, 4].map((width) => String(n).padStart(width, '0')),
    );
    const allowed = texts.flat().filter((limit) => accepts(PageQuery.limit, limit));
    expect(new Set(allowed)).toEqual(
      new Set(
        texts.flat().filter((limit) => limit.length <= 3 && Number(limit) >= 1 && Number(limit) <= PAGE_MAX),
      ),
    );
  });
});

describe('cursor', () => {
  test.each([[[1]], [['a', 2]], [['ä"\\', -15, '']]])('%j comes back as it was', (values) => {
    const cursor = encodeCursor(values);
    expect(cursor).toMatch(/^[\w-]+$/);
    expect(decodeCursor(cursor, values.length)).toEqual(values);
  });

  test.each([
    ['another list’s length', encodeCursor([1, 2])],
    ['not base64', '!'],
    ['not JSON', Buffer.from('x').toString('base64url')],
    ['not a list', Buffer.from('{"length":1}').toString('base64url')],
    ['null', Buffer.from('[null]').toString('base64url')],
    ['an object', Buffer.from('[{}]').toString('base64url')],
    ['a number past all bounds', Buffer.from('[1e999]').toString('base64url')],
    ['a fraction', encodeCursor([1.5])],
    ['a text with U+0000', encodeCursor(['a\0'])],
    ['half of a surrogate pair', encodeCursor(['\ud800'])],
    ['a text without end', encodeCursor(['x'.repeat(513)])],
    ['nothing', ''],
  ])('refuses %s as invalid_request', (_, cursor) => {
    expect(() => decodeCursor(cursor, 1)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('a page by key', () => {
  const page = (rows: readonly string[], limit: number) => cutPage(rows, { limit, keyOf: (row) => row });

  test('continues where the previous one ended, and the last one has no cursor', () => {
    const first = page(['a', 'b', 'c'], 2);
    expect(first.page).toEqual(['a', 'b']);
    const asked = askedPage({ limit: '2', cursor: first.next_cursor ?? undefined });
    expect(asked).toEqual({ limit: 2, after: 'b' });
    expect(page(['c'], asked.limit)).toEqual({ page: ['c'], next_cursor: null });
  });

  test.each([[[]], [['a']], [['a', 'b']]])('of %j with room for two is the last one', (rows) => {
    expect(page(rows, 2)).toEqual({ page: rows, next_cursor: null });
  });

  test('without limit or cursor is the first one', () => {
    expect(askedPage({})).toEqual({ limit: PAGE_DEFAULT, after: null });
  });
});
