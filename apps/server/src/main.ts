#!/usr/bin/env node
import { EXIT } from './cli/command.ts';
import { runCommand } from './cli/run-command.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';

// The server's files (database, keys, secrets) are for its own user only.
process.umask(0o077);

// A reader that stops early, such as `| head`, is no fault, and nobody is left to read a message.
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
