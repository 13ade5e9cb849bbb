import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { manPages } from './man-pages.ts';

const USAGE = `Usage: npm run build:man -- --out DIR
Writes the man pages of this version, tidegate.1, tidegatectl.1 and tidegate-agent.8. They are dated by SOURCE_DATE_EPOCH, or today.
`;

const { values } = parseArgs({ options: { out: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
if (values.help) process.stdout.write(USAGE);
else if (values.out === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else write(values.out);

function write(folder: string): void {
  const { SOURCE_DATE_EPOCH: seconds } = process.env;
  const at = seconds === undefined ? new Date() : new Date(Number(seconds) * 1_000);
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of manPages(at.toISOString().slice(0, 10))) {
    writeFileSync(join(folder, name), text);
    process.stdout.write(`${join(folder, name)}\n`);
  }
}
