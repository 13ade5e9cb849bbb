import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { BEGIN_YOUNG, HEAP_GROWTH } from './heap.ts';

/** A heap of which most is alive, and of which each part is replaced again and again. */
const BUSY = `
const kept = [];
for (let i = 0; i < 10_000; i++) kept[i % 200] = Array.from({ length: 5_000 }, (_, n) => ({ n }));
`;

/** The first objects of one place stay alive, as connections do while few come. The later ones do not, and hold much. */
const SHORT_LIVED = `
const open = (row) => ({ row, isOpen: true });
const row = () => Array.from({ length: 100 }, (_, n) => n + 0.5);
const kept = Array.from({ length: 60_000 }, row);
for (let i = 0; i < 10; i++) {
  for (let n = 0; n < 150; n++) kept.push(open(null));
  for (let n = 0; n < 40_000; n++) kept[n % 100] = row();
}
for (let i = 0; i < 300_000; i++) kept[i % 10] = open(row());
`;

function wholeCollections(program: string, flags: readonly string[]): number {
  const input = `
    import { setFlagsFromString } from 'node:v8';
    for (const flag of process.argv.slice(2)) setFlagsFromString(flag);
    ${program}`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--trace-gc', '--input-type=module', '-', ...flags],
    { input, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return Array.from(stdout.matchAll(/Mark-Compact/g)).length;
}

test('a busy heap is collected as a whole more often than V8 does by itself', () => {
  expect(wholeCollections(BUSY, [HEAP_GROWTH])).toBeGreaterThan(wholeCollections(BUSY, []));
});

test('what is short-lived is collected as a whole less often than V8 does by itself', () => {
  expect(wholeCollections(SHORT_LIVED, [BEGIN_YOUNG])).toBeLessThan(wholeCollections(SHORT_LIVED, []));
});
