import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesGlob } from './globs.ts';

test.each<[string, string, boolean]>([
  ['openssl', 'openssl', true],
  ['openssl', 'openssl-dev', false],
  ['openssl', 'libopenssl', false],
  ['OpenSSL', 'openssl', true], // a name that is spelt otherwise must not slip through
  ['linux-image-*', 'linux-image-6.1.0-30-amd64', true],
  ['linux-image-*', 'linux-image-', true],
  ['linux-image-*', 'linux-imag', false],
  ['*', 'anything', true],
  ['**', 'anything', true],
  ['lib*-dev', 'libc6-dev', true],
  ['lib*-dev', 'libc6', false],
  ['a*a', 'a', false], // the two ends must not share a character
  ['a*a', 'aa', true],
  ['ab*ba', 'aba', false],
  ['*a*a*', 'a', false],
  ['@corp/*', '@corp/tool', true],
  ['@corp/*', '@corporate/tool', false],
  ['c++', 'c++', true], // every character but the star is itself
  ['lib.', 'libx', false],
])('%s on %s: %s', (glob, name, expected) => {
  expect(matchesGlob(glob, name)).toBe(expected);
});

test('agrees with a regular expression on short patterns', () => {
  const letters = (alphabet: string) =>
    fc.array(fc.constantFrom(...alphabet), { maxLength: 8 }).map((all) => all.join(''));
  fc.assert(
    fc.property(letters('ab*'), letters('ab'), (glob, name) => {
      expect(matchesGlob(glob, name)).toBe(new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(name));
    }),
    { numRuns: 3_000 },
  );
});

test('a hostile pattern costs no more than a harmless one: a backtracking matcher would not come back', () => {
  const names = ['a'.repeat(214), `${'a'.repeat(213)}b`, 'ab'.repeat(107)];
  const globs = [`${'*a'.repeat(100)}*c`, `${'a*'.repeat(100)}c`, `*${'a'.repeat(107)}*c*`, '*'.repeat(214)];
  const before = process.threadCpuUsage();
  for (let round = 0; round < 200; round += 1) {
    for (const glob of globs) for (const name of names) matchesGlob(glob, name);
  }
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});
