import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { HEAP_GROWTH } from './heap.ts';

/** A heap of which most is alive, and of which each part is replaced again and again. */
const PROGRAM = `
import { setFlagsFromString } from 'node:v8';
if (process.argv[2]) setFlagsFromString(process.argv[2]);
const kept = [];
for (let i = 0; i < 3_000; i++) kept[i % 200] = Array.from({ length: 5_000 }, (_, n) => ({ n }));
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

test('a busy heap is collected as a whole more often than V8 does by itself', () => {
  expect(wholeCollections([HEAP_GROWTH])).toBeGreaterThan(wholeCollections([]));
});
