import { expect, test } from 'vitest';
import { placeAfterLogin } from './next-rules.ts';

test.each([
  ['/updates?state=pending', '/updates?state=pending'],
  ['/', '/'],
  ['/login?next=/login', '/'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['\\\\evil.example', '/'],
  ['https://evil.example/', '/'],
  ['javascript:alert(1)', '/'],
  ['/\t/evil.example', '/'],
  ['', '/'],
  [undefined, '/'],
  [{ a: 1 }, '/'],
])('a login with next=%j opens %j', (next, place) => {
  expect(placeAfterLogin(next)).toBe(place);
});
