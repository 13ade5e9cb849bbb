import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const BUILD_MAX_MS = 1_200_000;

test('two releases of one commit, built in different folders, are the same bytes', {
  timeout: BUILD_MAX_MS,
}, () => {
  const [first, second] = [build('first'), build('second')];
  expect(first).toBe(second);
  const names = first
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(66));
  const targets = ['linux-arm64', 'linux-x64'];
  const server = targets.flatMap((target) =>
    artifacts(`tidegate_0.1.0_${target}`, ['cdx.json', 'deb', 'rpm', 'tar.gz']),
  );
  const agent = [
    ...artifacts('tidegate-agent_0.1.0_darwin-arm64', ['cdx.json', 'tar.gz']),
    ...targets.flatMap((target) =>
      artifacts(`tidegate-agent_0.1.0_${target}`, ['cdx.json', 'deb', 'rpm', 'tar.gz']),
    ),
    ...artifacts('tidegate-agent_0.1.0_windows-x64', ['cdx.json', 'tar.gz']),
  ];
  expect(names.toSorted()).toEqual([...server, ...agent].toSorted());
});

/** Builds every artifact and returns SHA256SUMS, whose lines sha256sum has compared with the files. */
function build(name: string): string {
  const folder = tmpDir(`tidegate-release-${name}-`);
  onTestFinished(() => folder.remove());
  const out = join(folder.path, name);
  execFileSync(process.execPath, ['scripts/release.ts', '--fast', '--out', out], {
    cwd: REPOSITORY,
    stdio: 'pipe',
  });
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: out });
  return readFileSync(join(out, 'SHA256SUMS'), 'utf8');
}

function artifacts(name: string, endings: readonly string[]): string[] {
  return endings.map((ending) => `${name}.${ending}`);
}
