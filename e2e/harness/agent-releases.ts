import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** The source of this release. */
export const THIS_RELEASE = fileURLToPath(new URL('../..', import.meta.url));
export const THIS_VERSION = Value.Parse(
  Type.Object({ version: Type.String() }),
  JSON.parse(readFileSync(join(THIS_RELEASE, 'package.json'), 'utf8')),
).version;
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
    cpSync(join(THIS_RELEASE, name), join(folder, name), { recursive: true, filter: isSource });
  symlinkSync(join(THIS_RELEASE, 'node_modules'), join(folder, 'node_modules'));
  for (const name of VERSION_FILES) {
    const text = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), text.replace(THIS_VERSION, version));
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
