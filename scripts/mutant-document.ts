import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MUTANTS, type Mutant } from './mutant-table.ts';

const ROOT = dirname(import.meta.dirname);
export const MUTANTS_DOCUMENT = 'docs/mutants.md';

const HEAD = `# Mutants

Each row is one line of the real code with a fault put in, and the test that then fails: every rule of renewal and of the
gate has a test that proves it. Written by \`npm run test:mutants\` from the table in \`scripts/mutant-table.ts\`, when every one of them was caught.

| rule | mutant | test that fails |
|---|---|---|`;

export function documentOf(mutants: readonly Mutant[]): string {
  const rows = mutants.map(({ rule, file, from, to, test: [, title] }) => {
    const mutant = `${code(from)} → ${code(to)} in \`${basename(file)}\``;
    return `| ${[rule, mutant, title].join(' | ')} |`;
  });
  return `${HEAD}\n${rows.join('\n')}\n`;
}

/** Formats code for a table cell: on one line, with bars escaped. */
function code(text: string): string {
  return `\`${text.trim().replace(/\s+/g, ' ').replaceAll('|', '\\|')}\``;
}

/**
 * What is stale in the table and in its document, without running anything; `npm run test:mutants` proves that the tests
 * fail.
 */
export function staleMutants(): string[] {
  const faults = MUTANTS.flatMap((mutant) => {
    const fault = faultOf(mutant);
    return fault === null ? [] : [`scripts/mutant-table.ts, "${mutant.rule}": ${fault}`];
  });
  return [...faults, ...differencesOf(textOf(MUTANTS_DOCUMENT), documentOf(MUTANTS))];
}

/** Each line of the written document that is not in the stored one, and each that is there without a row. */
export function differencesOf(stored: string, written: string): string[] {
  const [there, wanted] = [stored, written].map((text) => new Set(text.split('\n')));
  const missing = [...(wanted ?? [])].filter((line) => !there?.has(line));
  const extra = [...(there ?? [])].filter((line) => !wanted?.has(line));
  const isMoved = missing.length === 0 && extra.length === 0 && stored !== written;
  return [
    ...missing.map((line) => `${MUTANTS_DOCUMENT} has no line: ${line}`),
    ...extra.map((line) => `${MUTANTS_DOCUMENT} has a line that the table does not write: ${line}`),
    ...(isMoved
      ? [`${MUTANTS_DOCUMENT} has the lines of the table in another order, or more than once`]
      : []),
  ];
}

/** Null for a row whose line occurs once and whose test exists. */
export function faultOf({
  file,
  from,
  to,
  test: [testFile, title, table = testFile],
}: Mutant): string | null {
  const absent = [file, testFile, table].find((path) => !existsSync(join(ROOT, path)));
  if (absent !== undefined) return `${absent} does not exist`;
  const count = textOf(file).split(from).length - 1;
  if (count !== 1) return `the line occurs ${count} times in ${file}`;
  if (from === to) return 'the mutant is the same as the line';
  return textOf(table).includes(title) ? null : `${table} has no test titled "${title}"`;
}

const texts = new Map<string, string>();

function textOf(path: string): string {
  const text = texts.get(path) ?? readFileSync(join(ROOT, path), 'utf8');
  texts.set(path, text);
  return text;
}
