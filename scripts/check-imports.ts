import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';
import { IMPORT_FIXTURES, type ImportFixture, roomFixture, sliceFixture } from './import-fixtures.ts';
import { staleMutants } from './mutant-document.ts';

// Checks the whole repository against the import rules of .dependency-cruiser.cjs. It also checks that each rule can fail,
// that the checker really read the modules (it reports success if it finds none), that pure code reads no clock, no
// randomness and no environment, and that no mutant names a line or a test that has changed since.

const root = dirname(import.meta.dirname);
const config: { forbidden: (IForbiddenRuleType & { name: string })[]; options: object } = createRequire(
  import.meta.url,
)(join(root, '.dependency-cruiser.cjs'));
const FOLDERS = ['apps', 'packages'];
const PURE =
  /^(packages\/(protocol|versions|capability|command-line)\/src\/|apps\/[^/]+\/src\/.*(\/gate|-rules)\.ts$)/;
const IMPURE = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\bprocess\.env\b/;

const faults: string[] = [];

const modules = sourceFiles();
const checked = await run(root, FOLDERS);
if (checked.summary.totalCruised < modules.length) {
  faults.push(`the checker read ${checked.summary.totalCruised} modules, but there are ${modules.length}`);
}
for (const violation of checked.summary.violations) {
  faults.push(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
}
for (const rule of config.forbidden) {
  const fixtures = [IMPORT_FIXTURES[rule.name] ?? generatedFixture(rule.name) ?? []].flat();
  if (fixtures.length === 0)
    faults.push(`rule ${rule.name} has no fixture that violates it: add one to scripts/import-fixtures.ts`);
  for (const [index, fixture] of fixtures.entries()) {
    if ((await broken(fixture)).includes(rule.name)) continue;
    faults.push(`rule ${rule.name} does not report its fixture ${index + 1}`);
  }
}
for (const file of modules.filter((path) => PURE.test(path))) {
  const code = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  if (IMPURE.test(code))
    faults.push(
      `${file} is pure code but reads the clock, randomness or the environment: pass these in as arguments`,
    );
}
faults.push(...staleMutants());

for (const fault of faults) console.error(fault);
console.log(
  `${checked.summary.totalCruised} modules read, ${config.forbidden.length} rules, ${faults.length} faults`,
);
process.exitCode = faults.length > 0 ? 1 : 0;

async function run(baseDir: string, folders: string[]): Promise<ICruiseResult> {
  const options = { ...config.options, baseDir, validate: true, ruleSet: { forbidden: config.forbidden } };
  const { output } = await cruise(folders, options);
  if (typeof output === 'string') throw new Error('dependency-cruiser returned text instead of a result');
  return output;
}

/** The names of the rules that the fixture violates. */
async function broken(fixture: ImportFixture): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-imports-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [path, imports] of Object.entries(fixture)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      const lines = imports.map((name, i) => {
        const from = name.replace(/^type /, '');
        if (from !== name) return `import type * as t${i} from '${from}';\nexport type T${i} = typeof t${i};`;
        return `import * as m${i} from '${from}';\nexport const v${i} = m${i};`;
      });
      writeFileSync(join(folder, path), `${lines.join('\n')}\nexport const here = true;\n`);
    }
    const top = [...new Set(Object.keys(fixture).map((path) => path.split('/')[0] ?? ''))];
    return (await run(folder, top)).summary.violations.map((violation) => violation.rule.name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function generatedFixture(rule: string) {
  const [, kind, name = ''] = /^(slice-order|agent-room)-(.+)$/.exec(rule) ?? [];
  if (kind === undefined) return null;
  return kind === 'slice-order' ? sliceFixture(name) : roomFixture(name);
}

function sourceFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => /\/src\/.*\.ts$/.test(path) && !/\.test\.ts$|node_modules|\/dist\//.test(path)),
  );
}
