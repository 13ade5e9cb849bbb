import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const probe = path.join(import.meta.dirname, 'agreement-probe.ts');
const cpu = process.arch === 'arm64' ? 'aarch64' : process.arch;
const system = process.platform === 'win32' ? 'windows' : process.platform;
const bun = path.join(import.meta.dirname, `../../../node_modules/@oven/bun-${system}-${cpu}/bin/bun`);
const isBunAbsent = !existsSync(bun);
if (isBunAbsent)
  console.warn(`skipped: the agent's runtime is not installed (npm package @oven/bun-${system}-${cpu})`);

async function outputOf(runtime: string): Promise<string> {
  const { stdout } = await promisify(execFile)(runtime, [probe]);
  return stdout;
}

test.skipIf(isBunAbsent)('server and agent runtimes sign alike and judge every signature alike', async () => {
  const onNode = await outputOf(process.execPath);
  expect(await outputOf(bun)).toBe(onNode);
  expect(onNode).toMatch(/^R = neutral point m false$/m);
});
