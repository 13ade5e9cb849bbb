import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tmpDir } from '@tidegate/testkit/tmp';
import { beforeAll, describe, expect, test } from 'vitest';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const PROBE = join(REPOSITORY, 'e2e/harness/vector-probe.ts');
const areAbsent = !existsSync(join(REPOSITORY, '../shared/data/vectors'));
if (areAbsent)
  console.warn('skipped: Wycheproof, RFC 8032, 8037, 8785 and DSSE are not in ../shared/data/vectors');

const run = promisify(execFile);

type Case = { kind: string; name: string; got: unknown; wanted: unknown };

async function casesOf(program: string, args: readonly string[]): Promise<Case[]> {
  const { stdout } = await run(program, [...args, REPOSITORY], { maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line): Case => JSON.parse(line));
}

/** The runtimes of server (Node) and agent (Bun, and compiled by it): all must reach the same verdict. */
const RUNTIMES = ['node', 'bun', 'compiled'] as const;
const results = new Map<string, Case[]>();

beforeAll(async () => {
  const bun = bunOfThisMachine();
  const folder = tmpDir('tidegate-vectors-');
  const binary = join(folder.path, 'probe');
  await run(bun, ['build', '--compile', '--bytecode', '--format=esm', PROBE, '--outfile', binary], {
    cwd: REPOSITORY,
  });
  results.set('node', await casesOf(process.execPath, [PROBE]));
  results.set('bun', await casesOf(bun, [PROBE]));
  results.set('compiled', await casesOf(binary, []));
  folder.remove();
});

describe.each(RUNTIMES)('on %s', (runtime) => {
  test('every encoding of a public key is judged as in vectors/ed25519-public-keys.json', () => {
    const cases = (results.get(runtime) ?? []).filter(({ kind }) => kind === 'public key');
    expect(cases.length).toBeGreaterThan(60);
    expect(cases.filter(({ got, wanted }) => got !== wanted)).toEqual([]);
  });

  test.skipIf(areAbsent).each([
    ['wycheproof', 151],
    ['rfc8032', 12],
    ['rfc8037', 2],
    ['dsse', 20],
    ['rfc8785', 32],
  ])('%s: at least %d cases, all with the result of the vectors', (kind, count) => {
    const cases = (results.get(runtime) ?? []).filter((each) => each.kind === kind);
    expect(cases.length).toBeGreaterThanOrEqual(count);
    expect(cases.filter(({ got, wanted }) => got !== wanted)).toEqual([]);
  });
});

// Because of this difference our own code refuses weak keys before any library sees them. If this test fails, the
// libraries agree now; keep the check, as they may differ again.
test('Node and Bun differ on a forgery under a key of small order', () => {
  const verdicts = RUNTIMES.map(
    (runtime) => results.get(runtime)?.find(({ kind }) => kind === 'library')?.got,
  );
  expect(verdicts).toEqual(['refused', 'taken', 'taken']);
});

function bunOfThisMachine(): string {
  const cpu = arch() === 'arm64' ? 'aarch64' : arch();
  return createRequire(import.meta.url).resolve(`@oven/bun-${platform()}-${cpu}/bin/bun`);
}
