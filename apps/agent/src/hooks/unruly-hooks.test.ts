import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import { type HookFacts, runHooks } from './run-hooks.ts';

const LIMIT_MS = 30_000;
/** How long after SIGTERM a program is killed, and more than output is read after its end. */
const KILL_MS = 10_000;

let world: ChecksWorld;
let heardBytes: number;
beforeEach(() => {
  world = createChecksWorld();
  heardBytes = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }); // limits pass when a test says so
});
afterEach(() => {
  vi.useRealTimers();
  world[Symbol.dispose]();
});

/** Begins a hook before an installation, which may note processes in the file PIDS. */
function begin(text: string, limitMs = LIMIT_MS) {
  const program = world.script('unruly', text.replaceAll('PIDS', join(world.folder, 'pids')));
  world.hook('before/10-unruly', { program, timeout_seconds: limitMs / 1_000 });
  const facts: HookFacts = {
    commandId: '11111111-1111-4111-8111-111111111111',
    ...{ ecosystem: 'apt', change: 'update', packages: 1 },
  };
  const means = { policy: world.policy, elapsedMs: () => performance.now() };
  return runHooks(means, 'before', facts, (chunk) => {
    heardBytes += chunk.length;
  });
}

const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
};
const pids = () => {
  const path = join(world.folder, 'pids');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : [];
};
/** A zombie has ended as well. */
const isGone = (pid: string) => {
  if (!existsSync(`/proc/${pid}/stat`)) return true;
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

test.each([
  ['ignores SIGTERM', 'trap "" TERM; echo $$ >> PIDS; while :; do sleep 1; done'],
  ['has stopped itself', 'echo $$ >> PIDS; kill -STOP $$'],
  [
    'goes down alone, while its child ignores SIGTERM',
    '(trap "" TERM; exec sleep 600) & echo $! >> PIDS; wait',
  ],
])('one that %s is killed after its limit, and the result says so', async (_, text) => {
  const run = begin(text);
  await until(() => pids().length === 1);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  await vi.advanceTimersByTimeAsync(KILL_MS);
  await until(() => pids().every(isGone));
  const { runs, failed } = await run;
  expect(runs).toMatchObject([{ name: '10-unruly', outcome: 'timed_out' }]);
  expect(failed).toMatchObject({
    name: '10-unruly',
    stops: true,
    detail: expect.stringMatching(/took over 30000 ms/),
  });
});

test('one that forks without end is killed with all that it has started', async () => {
  const run = begin(
    'for n in 1 2 3 4 5 6 7 8; do (trap "" TERM HUP; exec sleep 600) & echo $! >> PIDS; done; wait',
  );
  await until(() => pids().length === 8);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  expect((await run).failed?.detail).toMatch(/took over/);
  await until(() => pids().every(isGone));
});

test('what one leaves behind in its group is killed when it ends, and it has succeeded', async () => {
  const { runs } = await begin('sleep 600 & echo $! >> PIDS; exit 0');
  expect(runs).toMatchObject([{ outcome: 'ok' }]);
  await until(() => pids().length === 1 && pids().every(isGone));
});

test('one that succeeded is not called late because what it left elsewhere keeps its output open', async () => {
  const away = 'setsid sh -c "echo \\$\\$ >> PIDS; exec sleep 600" &';
  const run = begin(`${away} while [ ! -s PIDS ]; do :; done; echo $$ >> PIDS; exit 0`, 1_000);
  await until(() => pids().length === 2 && isGone(pids()[1] ?? ''));
  await vi.advanceTimersByTimeAsync(1_000);
  const { runs, failed } = await run;
  process.kill(Number(pids()[0]), 'SIGKILL');
  expect([runs, failed]).toMatchObject([[{ outcome: 'ok' }], null]);
});

test('of endless output only the end is kept, and the limit ends it', async () => {
  const run = begin('exec yes 0123456789');
  await until(() => heardBytes > 1_000_000);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  await vi.advanceTimersByTimeAsync(KILL_MS);
  const { runs, output } = await run;
  expect(runs).toMatchObject([{ outcome: 'timed_out' }]);
  expect(output.length).toBeLessThan(10_000);
  expect(output).toContain('0123456789\n');
});
