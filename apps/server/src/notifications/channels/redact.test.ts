import { expect, test } from 'vitest';
import { redact } from './redact.ts';

const URL_WITH_SECRET = 'https://hooks.example/services/T0001/B0002/aVeryLongSecret?sig=0123456789abcdef';

test.each([
  ['the whole URL', URL_WITH_SECRET],
  ['its path', '/services/T0001/B0002/aVeryLongSecret'],
  ['one piece of it', 'no team for aVeryLongSecret'],
  ['its query', '?sig=0123456789abcdef'],
  ['percent encoding', encodeURIComponent(URL_WITH_SECRET)],
  ['Base64', Buffer.from(URL_WITH_SECRET).toString('base64')],
])('%s of a secret is not shown', (_, text) => {
  const shown = redact(`It says: ${text}.`, [URL_WITH_SECRET]);
  expect(shown).toContain('***');
  expect(shown).not.toMatch(/aVeryLong|abcdef|YVZlcnlMb25n/);
});

test('a password of any length is not shown', () => {
  expect(redact('login hunter2 failed', ['hunter2', null, ''])).toBe('login *** failed');
});

test('what is kept is one bounded line', () => {
  expect(redact('a\nb', [])).toBe('a b');
  expect(redact('x'.repeat(10_000), [])).toHaveLength(500);
});
