import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { CliWorld } from './command.ts';
import { COMMANDS } from './commands.ts';
import { runCommand } from './run-command.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

async function run(...args: string[]) {
  const said = { out: '', err: '' };
  const world: CliWorld = {
    env: {},
    now: () => 0,
    random: (size) => Buffer.alloc(size),
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    isTerminal: false,
    stdin: (async function* () {})(),
  };
  return { code: await runCommand(args, world), ...said };
}

test('--help lists every command, and each has its own help', async () => {
  const help = await run('--help');
  expect(help).toMatchObject({ code: 0, err: '' });
  for (const [name, { summary, usage }] of COMMANDS) {
    expect(help.out).toContain(`${name} `);
    expect(help.out).toContain(summary);
    expect(await run(name, '--help')).toEqual({ code: 0, out: usage, err: '' });
  }
});

test('--version prints the version', async () => {
  expect(await run('--version')).toEqual({ code: 0, out: '0.2.0', err: '' });
});

test('an unknown command lists the known ones, exit 2', async () => {
  const { code, out, err } = await run('sever');
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(`unknown command "sever"; allowed: ${[...COMMANDS.keys()].join(', ')}`);
});

test.each([...COMMANDS.keys()])('%s prints its usage for an unknown option, exit 2', async (name) => {
  const { code, out, err } = await run(name, '--no-such-option');
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^(?!Usage).+\nUsage: tidegate/);
});

test('a closed output is no error', async () => {
  const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  expect([code, said]).toEqual([1, '']);
});
