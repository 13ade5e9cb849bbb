import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JSON_MAX_DEPTH, JSON_MAX_KEYS, JSON_MAX_VALUES, parseStrictJson } from './strict-json.ts';

// Third-party vectors lie beside the repository and are not part of it.
const folder = path.join(import.meta.dirname, '../../../../shared/data/vectors/json-test-suite/test_parsing');
const isAbsent = !existsSync(folder);
if (isAbsent) console.warn('skipped: JSONTestSuite is not in ../shared/data/vectors');

/** Valid by RFC 8259 and refused all the same: parsers disagree on what they mean. */
const REFUSED_ON_PURPOSE = [
  'y_object_duplicated_key.json',
  'y_object_duplicated_key_and_value.json',
  'y_object_escaped_null_in_key.json',
  'y_string_null_escape.json',
];

/** RFC 8259 leaves these open; we take numbers that lose digits, as JSON.parse does, and nothing else. */
const TAKEN_BY_CHOICE = [
  'i_number_double_huge_neg_exp.json',
  'i_number_real_underflow.json',
  'i_number_too_big_neg_int.json',
  'i_number_too_big_pos_int.json',
  'i_number_very_big_negative_int.json',
];

describe.skipIf(isAbsent)('JSONTestSuite', () => {
  const names = isAbsent ? [] : readdirSync(folder);
  const parse = (name: string) => parseStrictJson(readFileSync(path.join(folder, name))).ok;

  test('accepts every valid text except those that parsers disagree on', () => {
    const valid = names.filter((name) => name.startsWith('y_'));
    expect(valid.length).toBeGreaterThan(90);
    expect(valid.filter((name) => !parse(name)).sort()).toEqual(REFUSED_ON_PURPOSE);
  });

  test('refuses every text that is not JSON', () => {
    const invalid = names.filter((name) => name.startsWith('n_'));
    expect(invalid.length).toBeGreaterThan(180);
    expect(invalid.filter(parse)).toEqual([]);
  });

  test('refuses what the standard leaves open, but for numbers that lose digits', () => {
    const open = names.filter((name) => name.startsWith('i_'));
    expect(open.length).toBeGreaterThan(30);
    expect(open.filter(parse).sort()).toEqual(TAKEN_BY_CHOICE);
  });
});

describe('refusals', () => {
  test.each([
    ['{"a":1,"a":2}', 'has a duplicate key'],
    ['{"a":1,"\\u0061":2}', 'has a duplicate key'],
    ['[{"a":{"b":1,"b":1}}]', 'has a duplicate key'],
    ['{"":1,"":2}', 'has a duplicate key'],
    ['{"1":1,"1":2}', 'has a duplicate key'],
    ['{"__proto__":{}}', 'has the key "__proto__", which is not allowed'],
    ['{"a":{"\\u005f_proto__":1}}', 'has the key "__proto__", which is not allowed'],
    ['"\\u0000"', 'has U+0000 in a text'],
    ['{"\\u0000":1}', 'has U+0000 in a text'],
    ['"\\ud800"', 'has an unpaired surrogate in a text'],
    ['{"\\udc00":1}', 'has an unpaired surrogate in a text'],
    ['1e999', 'has a number out of range'],
    ['[-1e999]', 'has a number out of range'],
    ['', 'is not valid JSON'],
    ['{"a":1,}', 'is not valid JSON'],
    ['\ufeff{}', 'is not valid JSON'],
    ['"unterminated', 'is not valid JSON'],
    ['"\\', 'is not valid JSON'],
    [new Uint8Array([0x22, 0xff, 0x22]), 'is not valid UTF-8'],
    [new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), 'is not valid JSON'],
  ])('%j %s', (source, reason) => {
    expect(parseStrictJson(source)).toEqual({ ok: false, reason });
  });

  test('stops at the deepest nesting and not before it', () => {
    const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`;
    expect(parseStrictJson(nested(JSON_MAX_DEPTH)).ok).toBe(true);
    expect(parseStrictJson(nested(JSON_MAX_DEPTH + 2))).toEqual({
      ok: false,
      reason: 'is nested deeper than 32 levels',
    });
    expect(parseStrictJson('['.repeat(1_000_000)).ok).toBe(false);
  });
});

describe('acceptance', () => {
  test.each([
    ['{"a:b":"c:d,{[","e":"\\"f\\":1"}', { 'a:b': 'c:d,{[', e: '"f":1' }],
    ['"\\\\"', '\\'],
    ['{"\\\\":1}', { '\\': 1 }],
    ['{"constructor":1,"prototype":2,"toString":3}', { constructor: 1, prototype: 2, toString: 3 }],
    ['"\\ud83d\\ude00"', '😀'],
  ])('reads %s', (text, value) => {
    expect(parseStrictJson(text)).toEqual({ ok: true, value });
    expect(parseStrictJson(new TextEncoder().encode(text))).toEqual({ ok: true, value });
  });

  test('reads back every value that JSON can write, with any spacing', () => {
    const isAllowed = (text: string) => !text.includes('\\u0000') && !text.includes('"__proto__":');
    const spacing = fc.constantFrom(0, 2, '\t');
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'grapheme' }), spacing, (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(isAllowed(text));
        expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
      { numRuns: 300 },
    );
  });

  test('finds a duplicate key wherever it is', () => {
    const key = fc
      .string({ unit: 'grapheme', maxLength: 8 })
      .filter((k) => k !== '__proto__' && !k.includes('\0'));
    const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme-ascii' }), {
      minKeys: 1,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(object, fc.nat(), fc.integer({ min: 0, max: 4 }), (value, pick, depth) => {
        const text = JSON.stringify(value);
        fc.pre(parseStrictJson(text).ok);
        const keys = Object.keys(value);
        const again = JSON.stringify(keys[pick % keys.length]);
        const twice = `${'[{"x":'.repeat(depth)}${text.slice(0, -1)},${again}:null}${'}]'.repeat(depth)}`;
        expect(parseStrictJson(twice)).toEqual({ ok: false, reason: 'has a duplicate key' });
      }),
      { numRuns: 200 },
    );
  });
});

describe('limits of what is built', () => {
  const limits = { maxKeys: 3, maxValues: 8 };

  test.each([
    ['{"a":1,"b":2,"c":3}', null],
    ['{"a":1,"b":2,"c":3,"d":4}', 'has more than 3 keys'],
    ['[{"a":1},{"a":1},{"a":1},{"a":1}]', 'has more than 3 keys'],
    ['[1,2,3,4,5,6,7,8]', null],
    ['[1,2,3,4,5,6,7,8,9]', 'has more than 8 values'],
    ['[[],[],[],[]]', null],
    ['[[],[],[],[],[]]', 'has more than 8 values'],
    ['{"a":",:,:,:,:,:[[[[[[["}', null],
  ])('%s: %s', (text, reason) => {
    const parsed = parseStrictJson(text, limits);
    expect(parsed.ok ? null : parsed.reason).toBe(reason);
  });

  test('a text past a limit is refused by that limit, even if the rest is not JSON', () => {
    expect(parseStrictJson('{"a":1,"b":2,"c":3,"d":4 and no more', limits)).toEqual({
      ok: false,
      reason: 'has more than 3 keys',
    });
    expect(parseStrictJson(`${'['.repeat(JSON_MAX_DEPTH + 1)}no more`)).toMatchObject({ ok: false });
  });

  test('a default limit applies when none is given', () => {
    const keys = Array.from({ length: JSON_MAX_KEYS + 1 }, () => '"":0').join(',');
    expect(parseStrictJson(`{${keys}}`)).toEqual({
      ok: false,
      reason: `has more than ${JSON_MAX_KEYS} keys`,
    });
    expect(parseStrictJson(`[${'0,'.repeat(JSON_MAX_VALUES)}0]`)).toEqual({
      ok: false,
      reason: `has more than ${JSON_MAX_VALUES} values`,
    });
  });

  test('any JSON text passes a limit of twice its values plus one', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const values = countValues(JSON.parse(text));
        fc.pre(parseStrictJson(text).ok);
        expect(parseStrictJson(text, { maxKeys: 1e6, maxValues: values * 2 + 1 }).ok).toBe(true);
      }),
    );
  });
});

function countValues(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  return Object.values(value).reduce((sum: number, one) => sum + 1 + countValues(one), 1);
}
