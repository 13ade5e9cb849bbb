import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runTool } from '@tidegate/testkit/run-tool';
import { expect, test } from 'vitest';
import { readmeCommand, readmeCommands } from './harness/readme.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const DEMO_MAX_MS = 300_000;

/** What runs each command of the README, by its start: a test that takes it from there, or CI. */
const RUN_BY: Readonly<Record<string, { file: string; as: string }>> = {
  'apt install': { file: 'e2e/packages.test.ts', as: "readmeCommand('apt install')" },
  'dnf install': { file: 'e2e/packages.test.ts', as: "readmeCommand('dnf install')" },
  'podman load': { file: 'e2e/podman.test.ts', as: "readmeCommand('podman load')" },
  'npm start': { file: 'e2e/new-user.test.ts', as: "['npm', 'start']" },
  'npm run demo': { file: 'e2e/readme.test.ts', as: "readmeCommand('npm run demo')" },
  'npm test': { file: '.ci/run', as: 'npm test' },
  // Measures: it needs a machine at rest, and its numbers are kept by hand.
  'npm run bench': { file: 'bench/README.md', as: 'npm run bench' },
  'tidegate --help': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegate --help')" },
  'tidegate doctor': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegate doctor')" },
  'tidegatectl --help': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegatectl --help')" },
  'tidegate backup': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegate backup')" },
  'tidegate policies apply': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegate policies apply')" },
  'tidegate rollouts list': { file: 'e2e/packages.test.ts', as: "readmeCommand('tidegate rollouts list')" },
};

test('something runs each command of the README', () => {
  const starts = Object.keys(RUN_BY);
  expect(readmeCommands().filter((command) => !starts.some((start) => command.startsWith(start)))).toEqual(
    [],
  );
  for (const [start, { file, as }] of Object.entries(RUN_BY)) {
    expect(readmeCommand(start)).toMatch(/^\S+ /);
    expect([file, readFileSync(`${REPOSITORY}${file}`, 'utf8')]).toEqual([file, expect.stringContaining(as)]);
  }
});

if (process.env.TIDEGATE_LONG === '1') {
  test('the demo shows one update and a fleet', { timeout: DEMO_MAX_MS }, async () => {
    const shown = await runTool('sh', ['-c', `${readmeCommand('npm run demo')} -- --once`], {
      cwd: REPOSITORY,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
    });
    expect(shown).toContain('The demo is over; all of its data has been removed');
    expect(shown).not.toContain('One update: skipped');
  });
}
