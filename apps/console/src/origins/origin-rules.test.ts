import { expect, test } from 'vitest';
import { keyOf, prefillOf, ruleText, searchOf, suitesOf } from './origin-rules.ts';

const KEY = 'a'.repeat(40);

test('the form that a finding leads to has its key and suites', () => {
  const suites = ['Docker CE:bookworm', 'Mirror:bookworm'];
  expect(prefillOf(searchOf({ key: KEY, suites }, 'apt') ?? {})).toEqual({
    ecosystem: 'apt',
    key: KEY,
    suites,
  });
  expect(searchOf({ key: null, suites }, 'apt')).toBeNull();
});

test.each([{}, { key: KEY }, { suites: 'a' }, { key: KEY, suites: '' }])('%j proposes nothing', (search) => {
  expect(prefillOf(search)).toBeNull();
});

test('a fingerprint is taken as gpg prints it', () => {
  const printed = '9DC8 5822 9FC7 DD38 854A  E2D8 8D81 803C 0EBF CD88';
  expect(keyOf(`0x${printed}`)).toBe('9dc858229fc7dd38854ae2d88d81803c0ebfcd88');
});

test.each([
  ['Docker CE:bookworm', ['Docker CE:bookworm']],
  [' a \n\nb\na ', ['a', 'b']],
  ['', []],
])('the suites of %j are %j', (text, expected) => {
  expect(suitesOf(text)).toEqual(expected);
});

test.each([
  [{ rule: 'allow_older_than', min_age_days: 7 }, 'allow what is older than 7 days'],
  [{ rule: 'allow_older_than', min_age_days: 1 }, 'allow what is older than a day'],
  [{ rule: 'ask', min_age_days: null }, 'ask each time'],
] as const)('%j reads: %s', (origin, expected) => {
  expect(ruleText(origin)).toBe(expected);
});
