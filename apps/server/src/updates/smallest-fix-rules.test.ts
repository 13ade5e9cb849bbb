import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Known, smallestFix } from './smallest-fix-rules.ts';

const known = (text: string | null): Known =>
  text === null ? null : new Set(text.split('').filter(Boolean));

/** Vulnerabilities are letters; null: not known. */
test.each([
  ['', { '1.1': '' }, 'none'],
  [null, { '1.1': '' }, 'unknown'],
  ['a', {}, 'none'],
  ['a', { '1.1': 'a', '1.2': '', '1.3': '' }, '1.2'],
  ['ab', { '1.1': 'b', '1.2': '', '2.0': '' }, '1.2'],
  ['ab', { '1.1': 'b', '2.0': 'b' }, '1.1'], // nothing fixes b
  ['a', { '1.1': 'c', '1.2': 'a', '2.0': '' }, '2.0'], // c would be new
  ['a', { '1.1': null, '1.2': '' }, '1.2'],
  ['a', { '1.1': null }, 'none'],
  ['a', { '1.1': 'a' }, 'none'],
] as const)('installed with %j, offered %j: %s', (installed, offered, expected) => {
  const candidates = Object.entries(offered).map(([version, text]) => ({ version, known: known(text) }));
  const found = smallestFix(known(installed), candidates);
  expect(found.kind === 'fix' ? found.version : found.kind).toBe(expected);
});

test('a fix brings nothing, mends something, and no smaller version mends as much', () => {
  const some = fc.option(fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')), { freq: 5 });
  fc.assert(
    fc.property(some, fc.array(some), (installed, offered) => {
      const set = (ids: readonly string[] | null): Known => ids && new Set(ids);
      const candidates = offered.map((ids, i) => ({ version: `${i}`, known: set(ids) }));
      const found = smallestFix(set(installed), candidates);
      const usable = offered.flatMap((ids, i) =>
        ids?.every((id) => installed?.includes(id)) ? [{ i, left: ids.length }] : [],
      );
      const least = Math.min(...usable.map(({ left }) => left));
      if (installed === null) expect(found.kind).toBe('unknown');
      else if (least >= installed.length) expect(found.kind).toBe('none');
      else expect(found).toEqual({ kind: 'fix', version: `${usable.find(({ left }) => left === least)?.i}` });
    }),
  );
});
