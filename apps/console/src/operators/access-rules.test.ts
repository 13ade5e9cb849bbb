import { expect, test } from 'vitest';
import { endAfter, groupsOf, reachOf } from './access-rules.ts';

test.each([
  ['', null],
  [' , \n', null],
  ['web', ['web']],
  ['web, db\nedge', ['web', 'db', 'edge']],
  ['web,web', ['web']],
  ['front office', ['front office']],
])('the groups %j are %j', (text, groups) => {
  expect(groupsOf(text)).toEqual(groups);
});

test('no groups means the whole fleet', () => {
  expect([reachOf(null), reachOf(['web', 'db'])]).toEqual(['the whole fleet', 'web, db']);
});

test('a lifetime in days becomes an end time', () => {
  expect(endAfter(30, Date.parse('2026-11-21T12:00:00Z'))).toBe('2026-12-21T12:00:00.000Z');
});
