import { expect, test } from 'vitest';
import { differencesOf, documentOf, faultOf, staleMutants } from './mutant-document.ts';
import { MUTANTS, type Mutant } from './mutant-table.ts';

test('each mutant names a line that occurs once and an existing test, and docs/mutants.md has its row', () => {
  expect(staleMutants()).toEqual([]);
});

test('a stale row of the table is found', () => {
  const file = 'scripts/mutant-table.test.ts';
  const sound: Mutant = {
    ...{ rule: '', file, from: 'from ' + "'vitest'", to: '' },
    test: [file, 'a stale row of the table is found'],
  };
  const twice = ['a stale', 'row'].join(' ');
  const absent = ['no test', 'has this title'].join(' ');
  expect(faultOf(sound)).toBeNull();
  expect(faultOf({ ...sound, file: 'absent.ts' })).toBe('absent.ts does not exist');
  expect(faultOf({ ...sound, from: twice })).toMatch(/^the line occurs \d times/);
  expect(faultOf({ ...sound, to: sound.from })).toBe('the mutant is the same as the line');
  expect(faultOf({ ...sound, test: [file, absent] })).toContain('has no test titled');
});

test('a stale row of the document is found, whichever of its cells differs', () => {
  const [first, second, ...others] = MUTANTS;
  if (!first || !second) throw new Error('the table is empty');
  const written = documentOf(MUTANTS);
  expect(differencesOf(written, written)).toEqual([]);
  for (const changed of [
    { rule: 'other' },
    { from: 'other' },
    { to: 'other' },
    { test: ['a', 'b'] } as const,
  ]) {
    expect(differencesOf(written, documentOf([{ ...first, ...changed }, second, ...others]))).toHaveLength(2);
  }
  expect(differencesOf(written, documentOf([second, ...others]))).toHaveLength(1);
  expect(differencesOf(written, documentOf([second, first, ...others]))).toEqual([
    expect.stringContaining('in another order'),
  ]);
});
