import { describe, expect, test } from 'vitest';
import { confirmationOf, keySetWord, presenceOf, uptimeText } from './host-rules.ts';

const ID = '01a2006c-0000-7000-8000-000000000000';
const SEEN = '2026-01-01T00:00:00Z';

describe('hosts', () => {
  test.each([
    [{ status: 'revoked', online: true, last_seen_at: SEEN }, 'revoked'],
    [{ status: 'unbound', online: true, last_seen_at: SEEN }, 'unbound'],
    [{ status: 'bound', online: true, last_seen_at: SEEN }, 'online'],
    [{ status: 'bound', online: false, last_seen_at: SEEN }, 'offline'],
    [{ status: 'bound', online: false, last_seen_at: null }, 'never'],
  ] as const)('%j is %s', (host, presence) => {
    expect(presenceOf(host)).toBe(presence);
  });

  test.each([
    ['web-01.example.com', 'web-01.example.com'],
    ['web 01', '01a2006c'],
    ['\u202egpj.exe', '01a2006c'],
    ['wеb', '01a2006c'], // a Cyrillic letter, which looks like another
    ['', '01a2006c'],
    ['a'.repeat(65), '01a2006c'],
  ])('an act on the host %j is confirmed by typing %s', (hostname, typed) => {
    expect(confirmationOf({ hostname, id: ID })).toBe(typed);
  });

  test.each([
    [null, 'unknown'],
    [0, '0 min'],
    [3_599, '59 min'],
    [7_260, '2 h 1 min'],
    [90_000, '1 d 1 h'],
  ])('an uptime of %s seconds is %s', (seconds, text) => {
    expect(uptimeText(seconds)).toBe(text);
  });

  test('a key set says how far it is behind, or that the newest version is unknown', () => {
    expect(keySetWord(3, 5)).toBe('version 3, 2 behind the newest');
    expect(keySetWord(5, 5)).toBe('version 5, the newest');
    expect(keySetWord(5, null)).toBe('version 5; the newest is not known');
  });
});
