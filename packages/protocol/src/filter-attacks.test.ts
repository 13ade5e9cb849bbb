import { expect, test } from 'vitest';
import { FILTER_KEYS, HOST_FILTER_KEYS } from './filter-keys.ts';
import { FILTER_TEXT_MAX_CHARS, HOST_FILTERS, UPDATE_FILTERS } from './filter-text.ts';

const LANGUAGES = [
  { name: 'updates', filters: UPDATE_FILTERS, keys: FILTER_KEYS },
  { name: 'hosts', filters: HOST_FILTERS, keys: HOST_FILTER_KEYS },
] as const;
const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

/** What people who are no friends may type, save or send in a link. */
const HOSTILE = [
  ...PROTOTYPE_NAMES.flatMap((name) => [`${name}:x`, `"${name}":x`, `package:${name}`, `tag:${name}=x`]),
  '"'.repeat(FILTER_TEXT_MAX_CHARS),
  '\\'.repeat(FILTER_TEXT_MAX_CHARS),
  `"${'\\'.repeat(FILTER_TEXT_MAX_CHARS - 1)}`,
  ':'.repeat(FILTER_TEXT_MAX_CHARS),
  'a:'.repeat(FILTER_TEXT_MAX_CHARS / 2),
  'a '.repeat(FILTER_TEXT_MAX_CHARS / 2),
  '(a+)+$ '.repeat(200),
  '('.repeat(FILTER_TEXT_MAX_CHARS),
  `package:${'*'.repeat(1_000)}a`,
  `host:${'%_'.repeat(500)}`,
  'package:%00 package:%2e%2e%2f host:\u0000',
  'state:\u202epending host:\ud800 package:\ufeff',
  '\u2028\u2029\u00a0state:\u00a0pending',
  "package:' OR 1=1 --",
  'state:pending state:approved state:pending',
];

test.each(LANGUAGES)(
  'hostile texts of filters of $name are a filter of its own members, or errors with a place',
  ({ filters, keys }) => {
    for (const text of HOSTILE) {
      const parsed = filters.parse(text);
      if (!parsed.ok) {
        expect(parsed.errors.length).toBeGreaterThan(0);
        for (const { at, length } of parsed.errors) {
          expect(at).toBeGreaterThanOrEqual(0);
          expect(at + length).toBeLessThanOrEqual(text.length);
        }
        continue;
      }
      expect(Object.getPrototypeOf(parsed.filter)).toBe(Object.prototype);
      for (const member of Object.keys(parsed.filter)) expect(Object.hasOwn(keys, member)).toBe(true);
      expect(filters.parse(filters.format(parsed.filter))).toEqual(parsed);
    }
    expect(Reflect.get({}, 'x')).toBeUndefined();
  },
);

test.each(LANGUAGES)(
  'names of prototypes are no keys of filters of $name, nor members to write',
  ({ filters }) => {
    for (const name of PROTOTYPE_NAMES) {
      expect(filters.parse(`${name}:x`)).toMatchObject({ ok: false });
      expect(filters.format({ [name]: 'x' })).toBe('');
    }
    expect(filters.format(JSON.parse('{"__proto__":"x"}'))).toBe('');
  },
);

test('a longer text is not read, whatever it is made of', () => {
  for (const part of ['a', '"', '\\', ':', 'a:b ', ' ']) {
    const text = part.repeat(1_000_000);
    expect(UPDATE_FILTERS.parse(text)).toEqual({
      ok: false,
      errors: [{ at: 0, length: text.length, message: `is longer than ${FILTER_TEXT_MAX_CHARS} characters` }],
    });
  }
});
