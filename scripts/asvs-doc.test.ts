import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
/** The folders from which a path in the table may start. */
const BASES = [ROOT, join(ROOT, 'apps/server/src')];
const STATES = ['met', 'partly', 'not met', 'does not apply'] as const;
/** Requirements of the standard by level. */
const COUNTS = { '1': 70, '2': 183 };

const DOCUMENT = readFileSync(join(ROOT, 'docs/asvs.md'), 'utf8');
const ROWS = DOCUMENT.split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line) => {
    const [, id = '', level = '', wording = '', state = '', where = '', why = '', ...more] = line.split('|');
    const [idText, levelText, stateText] = [id, level, state].map((cell) => cell.trim());
    return { id: idText, level: levelText, wording, state: stateText, evidence: `${where} ${why}`, more };
  });

test('every requirement of levels 1 and 2 has exactly one row, with one of the four states', () => {
  expect(new Set(ROWS.map(({ id }) => id)).size).toBe(ROWS.length);
  const wrong = ROWS.filter(
    ({ id = '', state, more }) =>
      !/^\d+\.\d+\.\d+$/.test(id) || !STATES.some((known) => known === state) || more.length !== 1,
  );
  expect(wrong).toEqual([]);
  for (const [level, count] of Object.entries(COUNTS)) {
    expect([level, ROWS.filter((row) => row.level === level).length]).toEqual([level, count]);
  }
  expect(ROWS.length).toBe(COUNTS['1'] + COUNTS['2']);
});

test('the counts above the table are those of its rows', () => {
  for (const state of STATES) {
    expect(DOCUMENT).toContain(`| ${state} | ${ROWS.filter((row) => row.state === state).length} |`);
  }
});

test('every path that a row names exists', () => {
  const absent = ROWS.flatMap(({ id, evidence }) =>
    pathsIn(evidence)
      .filter((path) => locate(path) === null)
      .map((path) => `${id} ${path}`),
  );
  expect(absent).toEqual([]);
});

test('every title that a row quotes is in the file named before it', () => {
  const wrong = ROWS.flatMap(({ id, evidence }) =>
    quotesIn(evidence)
      .filter(({ path, title }) => !readFileSync(locate(path) ?? ROOT, 'utf8').includes(title))
      .map(({ path, title }) => `${id} ${path} ${title}`),
  );
  expect(wrong).toEqual([]);
});

test('a row that is met names code, a test or a document; any other row gives a reason', () => {
  const bare = ROWS.filter(({ state, evidence }) =>
    state === 'met' ? pathsIn(evidence).length === 0 : evidence.trim() === '',
  );
  expect(bare.map(({ id }) => id)).toEqual([]);
});

function pathsIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)]
    .map(([, span = '']) => span)
    .filter((span) => span.includes('/') || /\.(?:ts|tsx|md|json|service)$/.test(span));
}

/** The titles in quotes, each with the last test file that is named before it. */
function quotesIn(text: string): { path: string; title: string }[] {
  let path = '';
  return [...text.matchAll(/`([^`]+\.test\.ts)`|"([^"]+)"/g)].flatMap(([, file, title]) => {
    if (file !== undefined) path = file;
    return title === undefined || path === '' ? [] : [{ path, title }];
  });
}

function locate(path: string): string | null {
  return BASES.map((base) => join(base, path)).find((each) => existsSync(each)) ?? null;
}
