#!/usr/bin/env node
import { once } from 'node:events';
import { EXIT } from '@tidegate/terminal/read-args';
import { run } from './run.ts';

// What login writes is for its own user only.
process.umask(0o077);

// A reader that stops early, such as `| head`, is no fault, and nobody is left to read a message.
process.stdout.on('error', (error) => {
  if ('code' in error && error.code === 'EPIPE') process.exit(EXIT.failed);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  now: Date.now,
  columns: process.stdout.isTTY ? process.stdout.columns : null,
  out: (text) => process.stdout.write(`${text}\n`),
  write: async (text) => {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  },
  err: (text) => process.stderr.write(`${text}\n`),
  stdin: process.stdin,
});
