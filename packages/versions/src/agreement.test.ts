import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SEED } from '@tidegate/testkit/seed';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sign } from './order.ts';
import type { Ecosystem } from './osv-ecosystems.ts';
import { groupsOf } from './testing/generated-versions.ts';
import { compareVersions } from './versions.ts';

/** The distributions' own tools are the specification of their order; Python's `packaging` is PEP 440's. */
const PAIRS = 20_000;
/** Each pair costs a process of dpkg: all of them in the long lane, else a tenth. */
const DPKG_PAIRS = process.env.TIDEGATE_LONG === '1' ? PAIRS : PAIRS / 10;
const DPKG_TIMEOUT_MS = 300_000;

type Verdict = Sign | 'undecidable';
type Pair = readonly [string, string];

const has = {
  dpkg: isThere('dpkg', '--version'),
  rpm: isThere('rpm', '--version'),
  packaging: isThere('/usr/bin/python3', '-c', 'import packaging.version'),
};
for (const [tool, isInstalled] of Object.entries(has)) {
  if (!isInstalled) console.warn(`skipped: agreement with ${tool}, which is not installed`);
}

describe('agreement with the host’s tools on random pairs', () => {
  test.skipIf(!has.dpkg)(
    `apt agrees with dpkg --compare-versions on ${DPKG_PAIRS}`,
    async () => {
      const pairs = samplesOf('apt', DPKG_PAIRS);
      const ours = pairs.map(([a, b]) => compareVersions('apt', a, b));
      const words = new Map<Verdict, string>([
        [-1, 'lt'],
        [0, 'eq'],
        [1, 'gt'],
      ]);
      // dpkg is asked whether our verdict holds: one process a pair, in one shell for each half.
      const lines = pairs.map(([a, b], at) => `${a} ${words.get(ours[at] ?? 'undecidable') ?? 'eq'} ${b}`);
      const script =
        'while read -r a r b; do dpkg --compare-versions "$a" "$r" "$b" || echo "$a $r $b"; done';
      const halves = [lines.slice(0, DPKG_PAIRS / 2), lines.slice(DPKG_PAIRS / 2)];
      const answers = await Promise.all(halves.map((half) => run('sh', ['-c', script], half)));
      expect(answers.flat().slice(0, 20), `seed ${SEED}`).toEqual([]);
      expectTies(pairs, ours);
    },
    DPKG_TIMEOUT_MS,
  );

  test.skipIf(!has.rpm)(`dnf agrees with rpm on ${PAIRS}`, async () => {
    const pairs = samplesOf('dnf', PAIRS);
    const folder = mkdtempSync(path.join(tmpdir(), 'tidegate-rpm-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'pairs');
    writeFileSync(file, pairs.map((pair) => `${pair.join(' ')}\n`).join(''));
    const loop = `for line in io.lines("${file}") do local a, b = line:match("^(%S+) (%S+)$") print(rpm.vercmp(a, b) .. "\\n") end`;
    const answers = await run('rpm', ['--eval', `%{lua:${loop}}`], []);
    expectAgreement({ ecosystem: 'dnf', pairs, answers });
  });

  test.skipIf(!has.packaging)(
    `pypi agrees with packaging on ${PAIRS}, also on what is no version`,
    async () => {
      const pairs = samplesOf('pypi', PAIRS);
      const lines = pairs.map((pair) => JSON.stringify(pair));
      const answers = await run('/usr/bin/python3', ['-c', PACKAGING], lines);
      expectAgreement({ ecosystem: 'pypi', pairs, answers });
      expect(answers.filter((each) => each === 'undecidable').length).toBeLessThan(PAIRS / 3);
    },
  );

  test(`npm agrees with the precedence of Semantic Versioning 2.0.0, item 11, on ${PAIRS}`, () => {
    const pairs = samplesOf('npm', PAIRS);
    const answers = pairs.map(([a, b]) => `${precedence(a, b)}`);
    expectAgreement({ ecosystem: 'npm', pairs, answers });
  });
});

const PACKAGING = `
import json, sys
from packaging.version import Version, InvalidVersion
for line in sys.stdin:
    a, b = json.loads(line)
    try:
        a, b = Version(a), Version(b)
        print((a > b) - (a < b))
    except InvalidVersion:
        print("undecidable")
`;

/** Item 11 word by word: numbers by value, then a prerelease below none, identifiers in turn; build is ignored. */
function precedence(a: string, b: string): number {
  const [left, right] = [read(a), read(b)];
  for (const at of [0, 1, 2]) {
    const difference = sign(BigInt(left.numbers[at] ?? '0') - BigInt(right.numbers[at] ?? '0'));
    if (difference !== 0) return difference;
  }
  if (left.pre === null || right.pre === null) {
    return (left.pre === null ? 1 : 0) - (right.pre === null ? 1 : 0);
  }
  for (let at = 0; at < Math.min(left.pre.length, right.pre.length); at += 1) {
    const difference = compareIdentifiers(left.pre[at] ?? '', right.pre[at] ?? '');
    if (difference !== 0) return difference;
  }
  return Math.sign(left.pre.length - right.pre.length);
}

function read(version: string): { numbers: string[]; pre: string[] | null } {
  const [withoutBuild = ''] = version.split('+');
  const dash = withoutBuild.indexOf('-');
  const core = dash === -1 ? withoutBuild : withoutBuild.slice(0, dash);
  return { numbers: core.split('.'), pre: dash === -1 ? null : withoutBuild.slice(dash + 1).split('.') };
}

function compareIdentifiers(a: string, b: string): number {
  const isNumber = (text: string) => /^[0-9]+$/.test(text);
  if (isNumber(a) && isNumber(b)) return sign(BigInt(a) - BigInt(b));
  if (isNumber(a) || isNumber(b)) return isNumber(a) ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function sign(difference: bigint): number {
  if (difference === 0n) return 0;
  return difference < 0n ? -1 : 1;
}

function samplesOf(ecosystem: Ecosystem, count: number): readonly Pair[] {
  const groups = fc.sample(groupsOf(ecosystem, 2), count);
  return groups.map(([a = '', b = '']): Pair => [a, b]);
}

function expectAgreement(given: {
  ecosystem: Ecosystem;
  pairs: readonly Pair[];
  answers: readonly string[];
}): void {
  const { ecosystem, pairs, answers } = given;
  expect(answers).toHaveLength(PAIRS);
  const ours = pairs.map(([a, b]) => compareVersions(ecosystem, a, b));
  const wrong = pairs.flatMap(([a, b], at) =>
    `${ours[at]}` === answers[at] ? [] : [`${a} against ${b}: ${ours[at]}, not ${answers[at]}`],
  );
  expect(wrong.slice(0, 20), `seed ${SEED}`).toEqual([]);
  expectTies(pairs, ours);
}

/** Random noise alone never meets two spellings of one version. */
function expectTies(pairs: readonly Pair[], ours: readonly Verdict[]): void {
  const ties = pairs.filter(([a, b], at) => a !== b && ours[at] === 0);
  console.info(`${ties.length} of ${pairs.length} pairs are one version in two spellings`);
  expect(ties.length).toBeGreaterThan(pairs.length / 50);
}

/** The lines that a program prints when it is given lines. */
function run(program: string, args: readonly string[], lines: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, args, options, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout.trim() === '' ? [] : stdout.trim().split('\n'));
    });
    child.stdin?.end(lines.map((line) => `${line}\n`).join(''));
  });
}

function isThere(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
