import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJson } from './json.ts';
import { locate } from './locate.ts';
import { readToml } from './toml.ts';
import { seeToml } from './toml-places.ts';

const folder = path.join(import.meta.dirname, '../../../../shared/data/vectors/json-test-suite/test_parsing');
const isAbsent = !existsSync(folder);
if (isAbsent) console.warn('skipped: JSONTestSuite is not in ../shared/data/vectors');

describe.skipIf(isAbsent)('JSONTestSuite (../shared/data/vectors/json-test-suite)', () => {
  const names = isAbsent ? [] : readdirSync(folder);
  // Texts that the standard takes and that are refused: keys that are given twice, and nesting without end.
  const STRICTER = /^y_object_duplicated_key/;

  test.each(names.filter((name) => name.startsWith('y_')))('%s is read', (name) => {
    const text = readFileSync(path.join(folder, name), 'utf8');
    const result = readJson(text);
    if (STRICTER.test(name)) return expect(result.faults).toHaveLength(1);
    expect(result).toEqual({ ok: true, value: JSON.parse(text), faults: [] });
  });

  test.each(names.filter((name) => name.startsWith('n_')))('%s is refused', (name) => {
    expect(readJson(readFileSync(path.join(folder, name), 'utf8')).ok).toBe(false);
  });
});

describe('readJson', () => {
  test('it reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const value: unknown = JSON.parse(text);
        const result = readJson(text);
        if (result.faults.length === 0) expect(result.ok && result.value).toEqual(value);
        else expect(text).toMatch(/__proto__|\\u|\\\\/);
      }),
    );
  });

  test('it refuses what JSON.parse refuses', () => {
    const text = fc.array(
      fc.constantFrom(...'{}[],:"\\ \n', '1', '-', '.', 'e', 'true', 'null', '"a"', '\\u00', '0'),
    );
    fc.assert(
      fc.property(
        text.map((parts) => parts.join('')),
        (source) => {
          expect(readJson(source).ok).toBe(isReadByThePlatform(source));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test.each([
    [
      '{"a":1,"a":2,"b":{"a":1,"a":1}}',
      [
        ['/a', 7],
        ['/b/a', 24],
      ],
    ],
    ['{"a":1,"\\u0061":2}', [['/a', 7]]],
    ['[{"__proto__":1}]', [['/0/__proto__', 2]]],
  ])('%s names every key that is given twice or not allowed', (text, faults) => {
    expect(readJson(text).faults.map(({ path, offset }) => [path, offset])).toEqual(faults);
  });
});

describe('places', () => {
  test('a value is located at its start, a missing one at its parent', () => {
    const places = locate('{\n "ä😀": [1,\n  {"b": 2}]}', 'JSON', [
      '/ä😀/1/b',
      '/ä😀',
      '/ä😀/1/c',
      '',
      '/nowhere',
    ]);
    expect([...places.values()]).toEqual([
      { line: 3, column: 9 },
      { line: 2, column: 8 },
      { line: 3, column: 3 },
      { line: 1, column: 1 },
      { line: 1, column: 1 },
    ]);
  });

  test('a duplicate key keeps its first location', () => {
    expect(locate('{"a":1,"a":2}', 'JSON', ['/a']).get('/a')).toEqual({ line: 1, column: 6 });
  });

  const toml = `a = 1 # x = 2
"b\\u0063" = ['x', """
y""", { z = 1, "w v" = [ ] }, # ]
]
c.d = '''it''s'''
[e]
f = 2026-01-01T00:00:00Z
[[g]]
h = 1
[[g]]
h = 2
[g.i]
j = true
[[g.k]]
l = "\\"#"
`;

  test('the places of TOML are those of every value, and of nothing else', () => {
    const seen = new Map<string, number>();
    seeToml(toml, (at, offset) => seen.set(at, offset));
    const result = readToml(toml);
    expect([...seen.keys()].toSorted()).toEqual(pointersOf(result.ok ? result.value : null).toSorted());
    const at = (pointer: string) => toml.slice(seen.get(pointer), (seen.get(pointer) ?? 0) + 5);
    expect(['/a', '/bc/2/w v', '/c/d', '/e/f', '/g/1/h', '/g/1/i/j', '/g/1/k/0/l'].map(at)).toEqual([
      ...['1 # x', '[ ] }', "'''it", '2026-', '2\n[g.', 'true\n', '"\\"#"'],
    ]);
  });

  test('a text that is not TOML ends only the search', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'[]{}=."\'#a \n,')), (c) => seeToml(c.join(''), () => {})),
    );
  });
});

function pointersOf(value: unknown, at = ''): string[] {
  if (value === null || typeof value !== 'object' || value instanceof Date) return [at];
  return [at, ...Object.entries(value).flatMap(([key, member]) => pointersOf(member, `${at}/${key}`))];
}

function isReadByThePlatform(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
