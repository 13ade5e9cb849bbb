import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MUTANTS, type Mutant } from './mutant-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** Holds a row against the tree without running anything; `npm run test:mutants` proves that the test fails. */
function faultOf({ file, from, to, test: [testFile, title, table = testFile] }: Mutant): string | null {
  const absent = [file, testFile, table].find((path) => !existsSync(join(ROOT, path)));
  if (absent !== undefined) return `${absent} does not exist`;
  const count = textOf(file).split(from).length - 1;
  if (count !== 1) return `the line occurs ${count} times in ${file}`;
  if (from === to) return 'the mutant is the same as the line';
  return textOf(table).includes(title) ? null : `${table} has no test titled "${title}"`;
}

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

test.each(MUTANTS)('the mutant "$rule" names a line that occurs once and an existing test', (mutant) => {
  expect(faultOf(mutant)).toBeNull();
});

test('docs/mutants.md names the test of each mutant', () => {
  const titles = textOf('docs/mutants.md')
    .match(/(?<=\| )[^|]*(?= \|$)/gm)
    ?.slice(1);
  expect(titles?.filter((title) => !/^-+$/.test(title))).toEqual(MUTANTS.map(({ test: [, title] }) => title));
});

test('a stale row is found', () => {
  const file = 'scripts/mutant-table.test.ts';
  const sound: Mutant = {
    ...{ rule: '', file, from: 'import.meta.' + 'dirname', to: '' },
    test: [file, 'a stale row is found'],
  };
  const twice = ['a stale', 'row'].join(' ');
  const absent = ['no test', 'has this title'].join(' ');
  expect(faultOf(sound)).toBeNull();
  expect(faultOf({ ...sound, file: 'absent.ts' })).toBe('absent.ts does not exist');
  expect(faultOf({ ...sound, from: twice })).toMatch(/^the line occurs \d times/);
  expect(faultOf({ ...sound, to: sound.from })).toBe('the mutant is the same as the line');
  expect(faultOf({ ...sound, test: [file, absent] })).toContain('has no test titled');
});
