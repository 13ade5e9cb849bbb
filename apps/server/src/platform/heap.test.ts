import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { BEGIN_YOUNG } from './heap.ts';

/** The first objects of one place stay alive, as connections do while few come. The later ones do not, and hold much. */
const PROGRAM = `
import { setFlagsFromString } from 'node:v8';
if (process.argv[2]) setFlagsFromString(process.argv[2]);
const open = (row) => ({ row, isOpen: true });
const row = () => Array.from({ length: 100 }, (_, n) => n + 0.5);
const kept = Array.from({ length: 60_000 }, row);
for (let i = 0; i < 10; i++) {
  for (let n = 0; n < 150; n++) kept.push(open(null));
  for (let n = 0; n < 40_000; n++) kept[n % 100] = row();
}
for (let i = 0; i < 1_000_000; i++) kept[i % 10] = open(row());
`;

function wholeCollections(options: readonly string[]): number {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--trace-gc', '--input-type=module', '-', ...options],
    { input: PROGRAM, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return Array.from(stdout.matchAll(/Mark-Compact/g)).length;
}

test('what is short-lived is collected as a whole less often than V8 does by itself', () => {
  expect(wholeCollections([BEGIN_YOUNG])).toBeLessThan(wholeCollections([]));
});
