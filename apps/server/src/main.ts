#!/usr/bin/env node
import { EXIT } from '@tidegate/terminal/read-args';
import type { CliWorld } from './cli/command.ts';
import { askRunningServer } from './cli/doctor-running.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';

// The server's files (database, keys, secrets) are for its own user only.
process.umask(0o077);

// A reader that stops early, such as `| head`, is no fault, and nobody is left to read a message.
process.stdout.on('error', (error) => {
  if ('code' in error && error.code === 'EPIPE') process.exit(EXIT.failed);
  throw error;
});

const args = process.argv.slice(2);
const world: CliWorld = {
  env: process.env,
  now: systemClock,
  random: systemRandom,
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY === true,
  ...(process.stdout.isTTY && { columns: process.stdout.columns }),
  stdin: process.stdin,
};
process.exitCode = await run();

async function run(): Promise<number> {
  // Containers run this twice a minute: it takes a fifth of the time without the rest of the program.
  if (args.length === 2 && args[0] === 'doctor' && args[1] === '--running') return askRunningServer(world);
  const { runCommand } = await import('./cli/run-command.ts');
  return runCommand(args, world);
}
