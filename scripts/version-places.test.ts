import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AGENT_VERSION } from '../apps/agent/src/platform/version.ts';
import { VERSION_PLACES, versionsIn } from './version-places.ts';

const ROOT = join(import.meta.dirname, '..');

test.each(VERSION_PLACES)('$files have the version of this one', ({ files, pattern }) => {
  const found = globSync(files, { cwd: ROOT }).flatMap((name) =>
    versionsIn(readFileSync(join(ROOT, name), 'utf8'), pattern).map(({ version }) => version),
  );
  expect(new Set(found)).toEqual(new Set([AGENT_VERSION]));
});

test('a place is exactly the version', () => {
  const text = 'apt install ./tidegate-agent_1.2.3_linux-x64.deb and FOO=1.2.3';
  const pattern = VERSION_PLACES.at(-1)?.pattern ?? /x/g;
  const [place, ...others] = versionsIn(text, pattern);
  expect([text.slice(place?.from, place?.to), place?.version, others]).toEqual(['1.2.3', '1.2.3', []]);
});

test('set-version refuses what is no version', () => {
  const run = () =>
    execFileSync(process.execPath, ['scripts/set-version.ts', 'v1'], { cwd: ROOT, stdio: 'pipe' });
  expect(run).toThrow('allowed: such as 1.2.3');
});
