import { spawnSync } from 'node:child_process';
import { completeInShell, shellMissing } from '@tidegate/testkit/complete-in-shell';
import { describe, expect, test } from 'vitest';
import { PROGRAM as AGENT } from '../apps/agent/src/command-line.ts';
import { PROGRAM as CTL } from '../apps/ctl/src/program.ts';
import { PROGRAM as SERVER } from '../apps/server/src/cli/commands.ts';
import { bashCompletion } from '../packages/command-line/src/complete-bash.ts';
import { fishCompletion } from '../packages/command-line/src/complete-fish.ts';
import { zshCompletion } from '../packages/command-line/src/complete-zsh.ts';
import type { Program } from '../packages/command-line/src/declare.ts';
import { manPages } from './man-pages.ts';

const DATE = '2026-11-21';

test('there is a page for each program', () => {
  expect(manPages(DATE).map(({ name }) => name)).toEqual(['tidegate.1', 'tidegatectl.1', 'tidegate-agent.8']);
});

describe.each(manPages(DATE).map(({ name, text }) => [name, text] as const))('%s', (name, text) => {
  const program =
    [SERVER, CTL, AGENT].find((one) => name === `${one.name}.${one.section}`) ?? expect.unreachable();

  test('is understood by man and mandoc without a warning', () => {
    const man = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z', '-'], {
      input: text,
      encoding: 'utf8',
    });
    expect([man.status, man.stderr]).toEqual([0, '']);
    const mandoc = spawnSync('mandoc', ['-Tlint', '-Wwarning'], { input: text, encoding: 'utf8' });
    expect([mandoc.status, mandoc.stdout]).toEqual([0, '']);
  });

  test('names every command and every option that --help has', () => {
    const plain = spawnSync('mandoc', ['-Tascii'], { input: text, encoding: 'utf8' }).stdout.replace(
      /.[\b]/g,
      '',
    );
    for (const command of program.commands) {
      expect(plain).toContain(`${program.name} ${command.name}`);
      for (const option of Object.keys(command.options)) expect(plain).toContain(`--${option}`);
    }
  });
});

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

describe.each(['bash', 'zsh', 'fish'] as const)('%s', (shell) => {
  const missing = shellMissing(shell);
  if (missing !== null) console.log(`skipped: completion in ${shell}: ${missing}`);
  const offer = (program: Program, ...words: string[]) => {
    const script = SHELLS[shell](program);
    return completeInShell(shell, { script, words: [program.name, ...words] });
  };

  test.skipIf(missing !== null)('completes every command of each program', () => {
    for (const program of [SERVER, CTL, AGENT]) {
      expect(offer(program, '')).toEqual(program.commands.map(({ name }) => name).sort());
      expect(offer(program, 'completion', '')).toEqual(['bash', 'fish', 'zsh']);
    }
  });

  test.skipIf(missing !== null)('completes fixed values, acts of two words and options', () => {
    expect(offer(SERVER, 'operators', 'add', '--role', '')).toEqual(['admin', 'approver', 'viewer']);
    expect(offer(SERVER, 'keys', 'root', '')).toEqual(['init', 'install', 'make', 'sign']);
    expect(offer(SERVER, 'restore', '')).toEqual(['one.json', 'two']);
    expect(offer(CTL, '--token-file', 'x', 'hosts', 'sc')).toEqual(['scan']);
    expect(offer(CTL, 'hosts', 'list', '--reboot', '')).toEqual(['needed', 'not_needed', 'unknown']);
    // The same option has other values in another list.
    expect(offer(CTL, 'hosts', 'packages', 'x', '--sort', '')).toEqual(['-name', 'name']);
    expect(offer(CTL, 'policies', 'publish', '--file', '')).toEqual(['one.json', 'two']);
    expect(offer(AGENT, 'enrol', '--repl')).toEqual(['--replace']);
    expect(offer(AGENT, 'run', '--policy', '')).toEqual(['one.json', 'two']);
  });
});
