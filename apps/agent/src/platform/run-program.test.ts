import { readFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { holdLimits } from '../testing/hold-limits.ts';
import { findProgram, type ProgramCall, runProgram } from './run-program.ts';

const sh = (script: string, options: Partial<ProgramCall> = {}) =>
  runProgram({ program: 'sh', args: ['-c', script], timeoutMs: 50_000, maxOutputBytes: 10_000, ...options });

test('arguments reach the program as they are, with no shell between', async () => {
  const words = ['$HOME', '; false', '*', "it's"];
  const run = await runProgram({
    program: 'printf',
    args: ['%s\n', ...words],
    timeoutMs: 50_000,
    maxOutputBytes: 1_000,
  });
  expect(run).toMatchObject({ ok: true, stdout: `${words.join('\n')}\n` });
});

test('nothing of the environment of the agent is inherited', async () => {
  process.env.TIDEGATE_TEST_SECRET = 'leak';
  const run = await sh('env', { env: { ADDED: 'yes' } });
  expect(run.stdout).toContain('LC_ALL=C\n');
  expect(run.stdout).toContain('DEBIAN_FRONTEND=noninteractive\n');
  expect(run.stdout).toContain('ADDED=yes\n');
  expect(run.stdout).toContain('PATH=/usr/sbin:/usr/bin:/sbin:/bin\n');
  expect(run.stdout).not.toContain('leak');
});

test('standard input is closed, so nothing waits for an answer', async () => {
  expect(await sh('read line || echo none')).toMatchObject({ ok: true, stdout: 'none\n' });
});

test('a failure is a value with the exit code and the last words', async () => {
  const run = await sh('echo out; echo "E: no way" >&2; exit 100');
  expect(run).toMatchObject({ ok: false, reason: 'failed', exitCode: 100, stdout: 'out\n' });
  expect(!run.ok && run.detail).toContain('E: no way');
});

test('an absent program is a value, and a relative path is never looked up', async () => {
  const run = await runProgram({
    program: 'no-such-program',
    args: [],
    timeoutMs: 1_000,
    maxOutputBytes: 10,
  });
  expect(run).toMatchObject({ ok: false, reason: 'not_found' });
  expect(await findProgram('./sh')).toBeNull();
  expect(await findProgram('bin/sh')).toBeNull();
  expect(await findProgram('sh')).toMatch(/^\/.*\/sh$/);
});

test('a program that takes too long is stopped with all that it has started', async () => {
  const limits = holdLimits();
  let isStarted = false;
  const onOutput = () => {
    isStarted = true;
  };
  const running = sh('sleep 60 & echo $!; wait', { timeoutMs: 4_000, onOutput });
  await limits.passOnce(() => isStarted, 4_000);
  const run = await running;
  limits[Symbol.dispose]();
  expect(run.stdout).toMatch(/^\d+\n$/);
  expect(run).toMatchObject({ ok: false, reason: 'timed_out' });
  // A process that ends closes its pipes before it is a zombie, so on a busy machine the call returns a moment early.
  await vi.waitFor(
    async () => {
      const state = await readFile(`/proc/${run.stdout.trim()}/stat`, 'utf8').catch(() => 'gone');
      expect(state).toMatch(/^gone$|\) Z /);
    },
    { timeout: 60_000 },
  );
});

test('too much output fails the call, or only its end is kept', async () => {
  const script = 'i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; echo end';
  expect(await sh(script, { maxOutputBytes: 500 })).toMatchObject({ ok: false, reason: 'output_too_large' });
  const kept = await sh(script, { maxOutputBytes: 500, onOverflow: 'keep_tail' });
  expect(kept.ok).toBe(true);
  expect(kept.stdout).toHaveLength(500);
  expect(kept.stdout.endsWith('end\n')).toBe(true);
});

test('a service left behind with the pipes open does not keep the call waiting', async () => {
  const run = await sh('sleep 300 & echo $!');
  expect(run.ok).toBe(true);
  process.kill(Number(run.stdout));
});

test.runIf(process.getuid?.() === 0)(
  'root can run a program as another user, without extra groups',
  async () => {
    const run = await sh('id -u; id -G', { identity: { uid: 65_534, gid: 65_534 } });
    expect(run).toMatchObject({ ok: true, stdout: '65534\n65534\n' });
  },
);
