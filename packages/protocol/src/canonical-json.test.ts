import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

// Published vectors are read where the folder exists; the cases below stand in the repository.
const vectors = new URL('../../../../shared/data/vectors/rfc8785-jcs/', import.meta.url);

test('members are sorted by UTF-16 code units and nothing is added (RFC 8785 section 3.2.3)', () => {
  const value = {
    '\u20ac': 1,
    '\r': 2,
    '1': 3,
    '10': 4,
    '2': 5,
    '\u{1f600}': 6,
    '\ufb33': 7,
    a: { z: [], b: null },
  };
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":3,"10":4,"2":5,"a":{"b":null,"z":[]},"\u20ac":1,"\u{1f600}":6,"\ufb33":7}',
  );
});

test.each([
  [-0, '0'],
  [1e21, '1e+21'],
  [4.5, '4.5'],
  [1e-27, '1e-27'],
])('the number %d is written as ECMAScript does', (value, expected) => {
  expect(canonicalJson(value)).toBe(expected);
});

test('the order of members in the source does not matter, the order of items does', () => {
  expect(canonicalJson({ b: 1, a: 2 })).toBe(canonicalJson({ a: 2, b: 1 }));
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test('a member that is undefined is left out', () => {
  expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
});

test.each([[Number.NaN], [Number.POSITIVE_INFINITY], ['\ud800'], [undefined], [() => 1], [1n]])(
  '%s has no canonical form',
  (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  },
);

describe.skipIf(!existsSync(vectors))('published vectors of RFC 8785', () => {
  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])('%s.json', (name) => {
    const input: unknown = JSON.parse(readFileSync(new URL(`input/${name}.json`, vectors), 'utf8'));
    expect(canonicalJson(input)).toBe(
      readFileSync(new URL(`output/${name}.json`, vectors), 'utf8').trimEnd(),
    );
  });

  test('appendix B: numbers', () => {
    const cases: unknown = JSON.parse(readFileSync(new URL('appendix-b-numbers.json', vectors), 'utf8'));
    if (!Array.isArray(cases)) throw new Error('appendix-b-numbers.json is not a list');
    expect(cases.length).toBeGreaterThan(20);
    for (const [bits, text] of cases) {
      const number = Buffer.from(bits, 'hex').readDoubleBE();
      if (text === null) expect(() => canonicalJson(number)).toThrow(TypeError);
      else expect(canonicalJson(number)).toBe(text);
    }
  });
});
