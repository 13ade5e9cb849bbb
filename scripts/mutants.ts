import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { documentOf, MUTANTS_DOCUMENT } from './mutant-document.ts';
import { MUTANTS, type Mutant } from './mutant-table.ts';

// Applies each mutant of the table to a copy of the repository and checks that the named test fails. A test that fails
// on the unchanged copy would prove nothing, so all of them run there first. Writes docs/mutants.md if every mutant is
// caught. With a part of a rule's text as argument, it tries only the matching mutants and writes nothing.

const root = dirname(import.meta.dirname);
const copy = mkdtempSync(join(tmpdir(), 'tidegate-mutants-'));
const PARTS = [
  ...['apps', 'packages', 'scripts', 'vectors'],
  ...['package.json', 'tsconfig.json', 'vitest.config.ts'],
];
const SEED = '1';
const [, , wanted] = process.argv;
const mutants = MUTANTS.filter(({ rule }) => wanted === undefined || rule.includes(wanted));

const Report = Type.Object({
  testResults: Type.Array(
    Type.Object({
      assertionResults: Type.Array(Type.Object({ title: Type.String(), status: Type.String() })),
    }),
  ),
});
type Results = readonly { title: string; status: string }[];

try {
  for (const part of PARTS) cpSync(join(root, part), join(copy, part), { recursive: true, filter: isSource });
  linkModules();
  const files = [...new Set(mutants.map(({ test: [file] }) => file))];
  const sound = runTests(files);
  const survivors = mutants.filter((mutant, i) => {
    const fault = tryOut(mutant, sound);
    say(`${i + 1}/${mutants.length} ${fault ?? 'caught'}: ${mutant.rule}`);
    return fault !== null;
  });
  if (survivors.length > 0) process.exitCode = 1;
  else if (wanted === undefined) writeFileSync(join(root, MUTANTS_DOCUMENT), documentOf(mutants));
  say(`${mutants.length - survivors.length} of ${mutants.length} mutants were caught`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}

/** Links the modules of others, and our own packages to the copy: a mutant of theirs must take effect. */
function linkModules(): void {
  const [from, to] = [join(root, 'node_modules'), join(copy, 'node_modules')];
  mkdirSync(join(to, '@tidegate'), { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== '@tidegate') symlinkSync(join(from, name), join(to, name));
  }
  for (const name of readdirSync(join(from, '@tidegate'))) {
    symlinkSync(readlinkSync(join(from, '@tidegate', name)), join(to, '@tidegate', name));
  }
}

/** The fault of the mutant or its test; null if the test fails with the mutant and passes without it. */
function tryOut({ file, from, to, test: [testFile, title] }: Mutant, sound: Results): string | null {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) return 'STALE, its line does not occur exactly once';
  const statuses = statusesOf(sound, title);
  if (statuses.length === 0) return 'STALE, no test has that title';
  if (statuses.includes('failed')) return 'USELESS, the test fails without it';
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const hurt = statusesOf(runTests([testFile], title), title);
  writeFileSync(path, text);
  return hurt.includes('failed') ? null : 'SURVIVED';
}

function statusesOf(results: Results, title: string): string[] {
  return results.filter((one) => one.title.includes(title)).map(({ status }) => status);
}

/** The results of the tests in these files, or only of those with the title. */
function runTests(files: readonly string[], title?: string): Results {
  const output = join(copy, 'report.json');
  rmSync(output, { force: true });
  const only = title === undefined ? [] : ['-t', title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')];
  const args = ['run', ...files, ...only, '--reporter=json', `--outputFile=${output}`];
  spawnSync(join(root, 'node_modules/.bin/vitest'), args, {
    cwd: copy,
    stdio: 'ignore',
    env: { ...process.env, TIDEGATE_SEED: SEED },
  });
  const report = Value.Parse(Report, JSON.parse(readFileSync(output, 'utf8')));
  return report.testResults.flatMap(({ assertionResults }) => assertionResults);
}

function isSource(path: string): boolean {
  return !['dist', 'node_modules'].includes(basename(path));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
