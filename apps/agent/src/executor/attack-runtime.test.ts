import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ATTACKS } from '../testing/attacks/all.ts';
import { defeatOf } from '../testing/attacks/run-attack.ts';

const cpu = process.arch === 'arm64' ? 'aarch64' : process.arch;
const system = process.platform === 'win32' ? 'windows' : process.platform;
const bun = join(import.meta.dirname, `../../../../node_modules/@oven/bun-${system}-${cpu}/bin/bun`);
const probe = join(import.meta.dirname, '../testing/attacks/attack-probe.ts');
const isBunAbsent = !existsSync(bun);
if (isBunAbsent)
  console.warn(`skipped: the agent's runtime is not installed (npm package @oven/bun-${system}-${cpu})`);

test.skipIf(isBunAbsent)('every attack ends on the runtime of the agent as it does on Node', async () => {
  const { stdout } = await promisify(execFile)(bun, [probe], { timeout: 250_000 });
  const expected = Object.entries(ATTACKS).flatMap(([group, attacks]) =>
    attacks.map((attack) => `${group}: ${attack.name} ${JSON.stringify(defeatOf(attack))}`),
  );
  expect(stdout.trimEnd().split('\n')).toEqual(expected);
});
