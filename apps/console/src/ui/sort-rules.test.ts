import { expect, test } from 'vitest';
import { directionOf, firstSort, sortAfter } from './sort-rules.ts';

const NAME = { sort: 'name' } as const;
const FOUND = { sort: 'found', sortFirst: 'descending' } as const;
const SEVERITY = { sort: 'severity', falls: true } as const;

test.each([
  [NAME, 'name', 'ascending'],
  [NAME, '-name', 'descending'],
  [NAME, 'found', 'none'],
  [NAME, undefined, 'none'],
  [FOUND, '-found', 'descending'],
  [SEVERITY, 'severity', 'descending'],
  [SEVERITY, '-severity', 'ascending'],
  [SEVERITY, 'severities', 'none'],
  [{}, 'name', 'none'],
] as const)('%j under the order %s is seen as %s', (column, sort, direction) => {
  expect(directionOf(column, sort)).toBe(direction);
});

test.each([
  [NAME, undefined, 'name'],
  [NAME, 'name', '-name'],
  [NAME, '-name', 'name'],
  [FOUND, 'name', '-found'],
  [FOUND, '-found', 'found'],
  [SEVERITY, '-found', 'severity'],
  [SEVERITY, 'severity', '-severity'],
] as const)('a click on %j under the order %s asks for %s', (column, sort, next) => {
  expect(sortAfter(column, sort)).toBe(next);
});

test('the order of the first click', () => {
  expect([NAME, FOUND, SEVERITY].map(firstSort)).toEqual(['name', '-found', 'severity']);
});
