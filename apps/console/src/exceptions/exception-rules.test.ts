import { expect, test } from 'vitest';
import { dayFrom, endOfDay, prefillOf } from './exception-rules.ts';

test.each([
  [{ ecosystem: 'pypi', name: 'requests', version: '2.0' }, 'pypi'],
  [{ ecosystem: 'npm', name: '@a/b', version: '1.0.0' }, 'npm'],
  [{ ecosystem: 'apt', name: 'a', version: '1' }, 'npm'],
])('a link that names %j fills the form', (search, ecosystem) => {
  const { name, version } = search;
  expect(prefillOf(search)).toEqual({ ecosystem, name, version });
});

test.each([{}, { name: 'a' }, { version: '1' }, { name: '', version: '1' }])(
  'a link that names only %j fills nothing',
  (search) => {
    expect(prefillOf(search)).toBeNull();
  },
);

test('an exception ends with its day, in UTC', () => {
  const day = dayFrom(Date.parse('2026-12-30T22:00:00Z'), 7);
  expect(endOfDay(day)).toBe('2027-01-06T23:59:59Z');
});
