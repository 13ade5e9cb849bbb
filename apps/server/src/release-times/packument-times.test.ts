import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PACKUMENT_MAX_DEPTH, type PackumentTimes, scanPackument } from './packument-times.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const LIMITS = LONG ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 300 };
const TEST_MS = LONG ? 90_000 : 20_000;

function timesOf(scan: PackumentTimes) {
  const said = scan.end();
  return said && new Map([...said].map(([version, { time }]) => [version, time]));
}

function read(text: string, wanted: readonly string[], pieceChars = 7) {
  const scan = scanPackument(new Set(wanted));
  for (let i = 0; i < text.length; i += pieceChars) {
    if (!scan.push(text.slice(i, i + pieceChars))) return null;
  }
  const times = timesOf(scan);
  return times && Object.fromEntries(times);
}

describe('the times in a packument (A7)', () => {
  test.each<[string, string, Record<string, string | null> | null]>([
    ['a requested version', '{"time":{"1.0.0":"a","2.0.0":"b"}}', { '1.0.0': 'a' }],
    ['a missing version', '{"time":{}}', {}],
    ['a listed version without a time', '{"versions":{"1.0.0":{}}}', { '1.0.0': null }],
    ['times in another member', '{"x":{"time":{"1.0.0":"a"}},"time":{"1.0.0":"b"}}', { '1.0.0': 'b' }],
    ['times in a list', '{"time":[{"1.0.0":"a"}]}', {}],
    ['times and a list of the same name', '{"time":{"1.0.0":"a"},"time":["b"]}', { '1.0.0': 'a' }],
    ['nested times', '{"time":{"x":{"1.0.0":"a"}}}', {}],
    ['times in a text', '{"readme":"\\"time\\":{\\"1.0.0\\":\\"a\\"}"}', {}],
    ['a value that ends in a backslash', '{"r":"\\\\","time":{"1.0.0":"a"}}', { '1.0.0': 'a' }],
    ['a key in escapes', '{"\\u0074ime":{"1\\u002e0.0":"a"}}', { '1.0.0': 'a' }],
    ['a time that is a number', '{"time":{"1.0.0":12}}', { '1.0.0': null }],
    ['a time that is an object', '{"time":{"1.0.0":{"a":"b"}}}', { '1.0.0': null }],
    ['a duplicate time', '{"time":{"1.0.0":"a","1.0.0":"b"}}', { '1.0.0': null }],
    ['a duplicate time object', '{"time":{"1.0.0":"a"},"time":{"1.0.0":"b"}}', { '1.0.0': null }],
    ['white space', ' { "time" : { "1.0.0" : "a" } } \n', { '1.0.0': 'a' }],
    ['a list', '[{"time":{"1.0.0":"a"}}]', null],
    ['a text', '"time"', null],
    ['nothing', '', null],
    ['a page', '<html>', null],
    ['half a packument', '{"time":{"1.0.0":"a"}', null],
    ['trailing text', '{"time":{"1.0.0":"a"}}{}', null],
    ['brackets that do not match', '{"time":{"1.0.0":"a"]]', null],
  ])('%s', (_what, text, expected) => {
    for (const pieceChars of [1, 3, 1_000]) expect(read(text, ['1.0.0'], pieceChars)).toEqual(expected);
  });

  test.each<[string, string, string | null | undefined, boolean?]>([
    ['its own', '{"1.0.0":{"dist":{"x":1,"integrity":"i"}}}', 'i'],
    ['of another version', '{"2.0.0":{"dist":{"integrity":"i"}}}', undefined, false],
    ['beside dist', '{"1.0.0":{"integrity":"i","dist":{}}}', undefined],
    ['below dist', '{"1.0.0":{"dist":{"x":{"integrity":"i"}}}}', undefined],
    ['beside that of dist', '{"1.0.0":{"other":{"integrity":"j"},"dist":{"integrity":"i"}}}', 'i'],
    ['before a list of the same name', '{"1.0.0":{"dist":{"integrity":"i"},"dist":["j"]}}', 'i'],
    ['of a dependency', '{"1.0.0":{"x":{"dist":{"integrity":"i"}}}}', undefined],
    ['in a list', '{"1.0.0":{"dist":[{"integrity":"i"}]}}', undefined],
    ['given twice', '{"1.0.0":{"dist":{"integrity":"i","integrity":"j"}}}', null],
    ['that is no text', '{"1.0.0":{"dist":{"integrity":["i"]}}}', null],
  ])('an integrity %s', (_what, versions, expected, isListed = true) => {
    for (const text of [
      `{"versions":${versions},"time":{"1.0.0":"a"}}`,
      `{"time":{"1.0.0":"a"},"versions":${versions}}`,
    ]) {
      const scan = scanPackument(new Set(['1.0.0']));
      scan.push(text);
      expect(scan.end()?.get('1.0.0')).toEqual({ time: 'a', integrity: expected, isListed });
    }
  });

  test('prototype names are ordinary keys', () => {
    const text = '{"__proto__":{"time":{}},"time":{"__proto__":"a","constructor":"b","toString":"c"}}';
    expect(scanPackument(new Set(['1.0.0'])).push(text)).toBe(true);
    const scan = scanPackument(new Set(['__proto__', 'constructor', '1.0.0']));
    scan.push(text);
    const times = timesOf(scan);
    expect(times?.get('__proto__')).toBe('a');
    expect(times?.get('constructor')).toBe('b');
    expect(times?.has('1.0.0')).toBe(false);
    expect(times?.has('toString')).toBe(false);
  });

  test(`nesting past ${PACKUMENT_MAX_DEPTH} levels is no packument`, () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(read(nested(PACKUMENT_MAX_DEPTH), [])).toEqual({});
    expect(read(nested(PACKUMENT_MAX_DEPTH + 1), [])).toBeNull();
  });

  test('an overlong key or time is ignored', () => {
    const long = 'x'.repeat(10_000);
    expect(read(`{"time":{"1.0.0":"${long}"}}`, ['1.0.0'], 4_096)).toEqual({ '1.0.0': null });
    expect(read(`{"time":{"${long}":"a"}}`, [long], 4_096)).toEqual({});
  });

  test('a million versions are read in pieces, and only the requested ones are kept', () => {
    const scan = scanPackument(new Set(['0.0.7', '0.0.999999']));
    scan.push('{"time":{');
    for (let i = 0; i < 1_000_000; i += 1_000) {
      const piece = Array.from({ length: 1_000 }, (_, j) => `"0.0.${i + j}":"t${i + j}"`).join(',');
      scan.push(i === 0 ? piece : `,${piece}`);
    }
    scan.push('}}');
    expect(Object.fromEntries(timesOf(scan) ?? [])).toEqual({ '0.0.7': 't7', '0.0.999999': 't999999' });
  });

  test(
    'for any JSON in any pieces the times equal those of a parser',
    () => {
      const key = fc.oneof(fc.constantFrom('time', '1.0.0', '__proto__'), fc.string({ unit: 'binary' }));
      const packument = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue())));
      const run = fc.property(
        packument,
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        (value, size, isIndented) => {
          const text = JSON.stringify(value, null, isIndented ? 2 : 0);
          const parsed: unknown = JSON.parse(text);
          const wanted = ['1.0.0', '__proto__', ''];
          const times = Object.entries(parsed ?? {}).find(([name]) => name === 'time')?.[1] ?? {};
          const isObject = typeof times === 'object' && !Array.isArray(times);
          const expected = new Map(
            Object.entries(isObject ? times : {})
              .filter(([version]) => wanted.includes(version))
              .map(([version, time]) => [version, typeof time === 'string' ? time : null]),
          );
          const scan = scanPackument(new Set(wanted));
          for (let i = 0; i < text.length; i += size) expect(scan.push(text.slice(i, i + size))).toBe(true);
          expect(timesOf(scan)).toEqual(expected);
        },
      );
      fc.assert(run, LIMITS);
    },
    TEST_MS,
  );

  test(
    'garbage never throws, in any pieces',
    () => {
      const piece = fc.oneof(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          '"',
          ',',
          ':',
          '\\',
          '"time":',
          '"1.0.0"',
          'null',
          '\\u',
          '\ud800',
        ),
        fc.string({ unit: 'binary' }),
      );
      const run = fc.property(fc.array(piece), (pieces) => {
        const scan = scanPackument(new Set(['1.0.0']));
        for (const text of pieces) if (!scan.push(text)) break;
        for (const time of timesOf(scan)?.values() ?? [])
          expect(time === null || typeof time === 'string').toBe(true);
      });
      fc.assert(run, LIMITS);
    },
    TEST_MS,
  );
});
