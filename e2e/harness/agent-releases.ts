import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = [
  'apps',
  'packages',
  'packaging',
  'scripts',
  'docs',
  'examples',
  'LICENSE',
  'package-lock.json',
];
const VERSION_FILES = ['package.json', 'apps/agent/src/platform/version.ts'];

/** The source of the next release, which differs from this one by its version alone. */
export function nextRelease(folder: string, version: string): string {
  mkdirSync(folder, { recursive: true });
  const isSource = (path: string) => !/\/(?:node_modules|dist|\.git)$/.test(path);
  for (const name of [...PARTS, 'package.json', 'tsconfig.json'])
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true, filter: isSource });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  for (const name of VERSION_FILES) {
    const text = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), text.replace('0.1.0', version));
  }
  return folder;
}

/** Builds the signed agent of a source tree, and the agents folder of its release. */
export function releaseAgent(
  source: string,
  { out, agents, args }: { out: string; agents: string; args: readonly string[] },
): Promise<string> {
  const few = ['--fast', '--product', 'tidegate-agent', '--target', 'linux-x64'];
  return runTool(
    process.execPath,
    ['scripts/release.ts', ...few, '--out', out, '--agents', agents, ...args],
    {
      cwd: source,
      env: {
        PATH: process.env.PATH ?? SYSTEM_PATH,
        HOME: process.env.HOME ?? '/',
        SOURCE_DATE_EPOCH: '1790000000',
      },
    },
  );
}

/** The source of this release. */
export const THIS_RELEASE = REPOSITORY;
