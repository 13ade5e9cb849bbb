import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WEIGHT_OF_ALL } from '../../testing/old-heap.ts';
import { BEGIN_YOUNG } from '../heap.ts';

const PROGRAM = join(import.meta.dirname, '../../testing/finished-requests-process.ts');
/** The heap begins as that of a server does. V8 collects its young part only when told to: it has room for all between. */
const OPTIONS = [BEGIN_YOUNG, '--min-semi-space-size=16', '--expose-gc', '--no-warnings'];

/** In a process of its own: what happened in a process before decides where V8 puts what comes. */
function oldHeapGrowth(holder: string): number {
  const { stdout, stderr } = spawnSync(process.execPath, [...OPTIONS, PROGRAM, holder], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return Number(stdout.trim() || Number.NaN);
}

test.each([
  'a lane of requests',
  'the connections of a server',
  'the connections of a server with TLS',
  'the answers of a worker',
])('%s keeps nothing that is over until a whole collection', (holder) => {
  expect(oldHeapGrowth(holder)).toBeLessThan(WEIGHT_OF_ALL / 8);
});

test('what a Map holds for a while is kept until then', () => {
  expect(oldHeapGrowth('a Map')).toBeGreaterThan(WEIGHT_OF_ALL / 2);
});
