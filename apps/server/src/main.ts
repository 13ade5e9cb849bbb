#!/usr/bin/env node
import { EXIT } from './cli/command.ts';
import { runCommand } from './cli/run-command.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';

// Whatever the server writes (database, keys, secrets) is for its own user alone.
process.umask(0o077);

// Whoever reads has seen enough, as `| head` has: not a fault, and nobody is left to be told.
process.stdout.on('error', (error) => {
  if ('code' in error && error.code === 'EPIPE') process.exit(EXIT.failed);
  throw error;
});

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  now: systemClock,
  random: systemRandom,
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY === true,
  stdin: process.stdin,
});
