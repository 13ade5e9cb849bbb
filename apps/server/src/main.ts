#!/usr/bin/env node
import { runCommand } from './cli/run-command.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';

// Whatever the server writes (database, keys, secrets) is for its own user alone.
process.umask(0o077);

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  now: systemClock,
  random: systemRandom,
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY === true,
  stdin: process.stdin,
});
