import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { unpackImage } from './harness/server-image.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(REPOSITORY, 'apps/server/src/main.ts');
const BUILD_MAX_MS = 1_200_000;
const QEMU = 'qemu-aarch64-static';

const folder = tmpDir('tidegate-release-');
const release = join(folder.path, 'release');
const sumsOf = (place: string) => readFileSync(join(place, 'SHA256SUMS'), 'utf8');

const key = join(folder.path, 'release.key');
let publicKey = '';

beforeAll(async () => {
  const made = await tidegate('keys', 'release', 'make', '--out', key, '--json');
  publicKey = String(JSON.parse(made).public_key_hex);
  build(release, '--release-key', key);
}, BUILD_MAX_MS);
afterAll(() => folder.remove());

test('a release has every artifact, each with its SBOM', () => {
  const lines = sumsOf(release).trimEnd().split('\n');
  const linux = ['linux-arm64', 'linux-x64'];
  const expected = [
    ...linux.flatMap((target) => artifacts(`tidegate_0.2.0_${target}`, ['deb', 'oci.tar', 'rpm', 'tar.gz'])),
    ...linux.flatMap((target) => artifacts(`tidegate-agent_0.2.0_${target}`, ['deb', 'rpm', 'tar.gz'])),
    ...artifacts('tidegate-agent_0.2.0_darwin-arm64', ['tar.gz']),
    ...artifacts('tidegate-agent_0.2.0_windows-x64', ['tar.gz']),
    ...linux.map((target) => `tidegate-image_0.2.0_${target}.cdx.json`),
    'tidegate-container_0.2.0.tar.gz',
    ...artifacts('tidegate-agents_0.2.0_all', ['deb', 'rpm']),
    'agents-signatures.json',
  ];
  expect(lines.map((line) => line.slice(66)).toSorted()).toEqual(expected.toSorted());
});

test('another build of the same commit, in another folder and without the key, has the same bytes', {
  timeout: BUILD_MAX_MS,
}, () => {
  const again = tmpDir('tidegate-again-');
  onTestFinished(() => again.remove());
  build(join(again.path, 'other'), '--signatures', join(release, 'agents-signatures.json'));
  expect(sumsOf(join(again.path, 'other'))).toBe(sumsOf(release));
});

// All are changed at once, and each must be named: one artifact at a time would hash every other one again for each.
test(
  'one changed byte in any artifact is refused by sha256sum and by tidegate',
  async () => {
    await tidegate('keys', 'release', 'sign', release, '--key', key);
    const verify = () => tidegate('keys', 'release', 'verify', release, '--public-key', publicKey);
    expect(await verify()).toContain('files are those that');
    const names = sumsOf(release)
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(66));
    for (const name of names) flipMiddleBit(join(release, name));
    const [bySum, byTidegate] = await Promise.all([wordsOf(sha256sum(release)), wordsOf(verify())]);
    for (const name of names) {
      expect(bySum).toContain(`\n${name}: FAILED\n`);
      expect(byTidegate).toContain(`${name} is not the file that SHA256SUMS names: its SHA-256 differs\n`);
    }
    for (const name of names) flipMiddleBit(join(release, name));
    await sha256sum(release);
    expect(await verify()).toContain('files are those that');
  },
  BUILD_MAX_MS,
);

test.skipIf(findTool(QEMU) === null)(
  `the programs for arm64 start (with ${QEMU} of qemu-user-static)`,
  async () => {
    const { root } = await unpackImage(
      join(release, 'tidegate_0.2.0_linux-arm64.oci.tar'),
      join(folder.path, 'arm64'),
    );
    const program = 'usr/lib/tidegate';
    const server = [join(root, program, 'bin/node'), join(root, program, 'server/main.js'), '--help'];
    expect(await runTool(QEMU, ['-L', root, ...server])).toContain('Usage: tidegate');
    await runTool('tar', [
      '-xzf',
      join(release, 'tidegate-agent_0.2.0_linux-arm64.tar.gz'),
      '-C',
      folder.path,
    ]);
    const agent = join(folder.path, 'tidegate-agent_0.2.0_linux-arm64/usr/bin/tidegate-agent');
    expect(await runTool(QEMU, ['-L', root, agent, 'version'])).toBe('0.2.0\n');
  },
);

function build(out: string, ...signing: string[]): void {
  const args = ['scripts/release.ts', '--fast', '--out', out, ...signing];
  execFileSync(process.execPath, args, { cwd: REPOSITORY, stdio: 'pipe' });
}

function flipMiddleBit(path: string): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  const middle = Math.floor(fstatSync(file).size / 2);
  readSync(file, byte, 0, 1, middle);
  byte.writeUInt8(byte.readUInt8(0) ^ 1, 0);
  writeSync(file, byte, 0, 1, middle);
  closeSync(file);
}

/** What a tool that must fail says, a line each. */
async function wordsOf(run: Promise<string>): Promise<string> {
  const error: unknown = await run.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('the tool accepted what was changed');
  return `${error.message}\n`;
}

function sha256sum(place: string): Promise<string> {
  return runTool('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: place });
}

function tidegate(...args: string[]): Promise<string> {
  return runTool(process.execPath, [MAIN, ...args]);
}

/** A product with its SBOM. */
function artifacts(name: string, endings: readonly string[]): string[] {
  return ['cdx.json', ...endings].map((ending) => `${name}.${ending}`);
}
