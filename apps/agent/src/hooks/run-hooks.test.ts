import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HookStage } from '@tidegate/protocol/probes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import { type HookFacts, runHooks } from './run-hooks.ts';

const FACTS: HookFacts = {
  commandId: '11111111-1111-4111-8111-111111111111',
  ...{ ecosystem: 'apt', change: 'update', packages: 3 },
};
let world: ChecksWorld;
let heard: string;
beforeEach(() => {
  world = createChecksWorld();
  heard = '';
});
afterEach(() => world[Symbol.dispose]());

const log = () => join(world.folder, 'log');
const said = () => (existsSync(log()) ? readFileSync(log(), 'utf8').trim().split('\n') : []);

/** A hook that notes that it ran. */
function hook(name: string, text = '', members: object = {}): string {
  const program = world.script(name.replace('/', '-'), `echo ${name} >> ${log()}\n${text}`);
  world.hook(name, { program, ...members });
  return program;
}

function run(stage: HookStage = 'before', facts = FACTS, elapsedMs = () => performance.now()) {
  return runHooks({ policy: world.policy, elapsedMs }, stage, facts, (chunk) => {
    heard += Buffer.from(chunk).toString();
  });
}

test('without hooks nothing runs, and nothing has failed', async () => {
  expect(await run()).toEqual({ runs: [], failed: null, output: '' });
});

test('they run in the order of their names, each stage for itself', async () => {
  hook('before/20-backup');
  hook('before/10-drain');
  hook('after/10-undrain');
  expect((await run()).runs).toMatchObject([
    { name: '10-drain', stage: 'before', outcome: 'ok' },
    { name: '20-backup', stage: 'before', outcome: 'ok' },
  ]);
  expect(said()).toEqual(['before/10-drain', 'before/20-backup']);
});

test('before an installation the first that fails is the last', async () => {
  hook('before/10-drain');
  hook('before/20-backup', 'echo "disk is full" >&2; exit 4');
  hook('before/30-snapshot');
  const { runs, failed } = await run();
  expect(runs.map(({ outcome }) => outcome)).toEqual(['ok', 'failed']);
  expect(failed).toEqual({
    name: '20-backup',
    detail: expect.stringContaining('disk is full'),
    stops: true,
  });
  expect(said()).toEqual(['before/10-drain', 'before/20-backup']);
});

test('after one all run, and the first that failed is told', async () => {
  hook('after/10-check', 'exit 1');
  hook('after/20-undrain');
  const { runs, failed } = await run('after');
  expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'ok']);
  expect(failed).toMatchObject({ name: '10-check', stops: false });
});

describe('before a rollback', () => {
  const rollBack = () => run('before', { ...FACTS, change: 'rollback' });

  test('one that fails does not stop it, and the others run', async () => {
    hook('before/10-backup', 'exit 1');
    hook('before/20-drain', 'test "$TIDEGATE_CHANGE" = rollback');
    const { runs, failed } = await rollBack();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'ok']);
    expect(failed).toMatchObject({ name: '10-backup', stops: false });
  });

  test('one whose program cannot be used is told, and does not stop it either', async () => {
    world.hook('before/10-backup', { program: '/nowhere/backup' });
    hook('before/20-drain');
    const { runs, failed } = await rollBack();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['failed', 'ok']);
    expect(failed).toMatchObject({ name: '10-backup', stops: false });
  });

  test('one that has to succeed stops it, also after one that may fail', async () => {
    hook('before/10-backup', 'exit 1');
    hook('before/20-drain', 'exit 1', { rollback: 'must_succeed' });
    hook('before/30-snapshot');
    const { failed } = await rollBack();
    expect(failed).toMatchObject({ name: '20-drain', stops: true });
    expect(said()).toEqual(['before/10-backup', 'before/20-drain']);
  });

  test.each<[string, () => unknown]>([
    [
      'has to succeed and cannot be used',
      () => world.hook('before/20-drain', { program: '/nowhere/drain', rollback: 'must_succeed' }),
    ],
    ['has a file that cannot be read', () => world.hook('before/20-drain', { program: 1 })],
  ])('none runs if one %s', async (_, spoil) => {
    hook('before/10-backup');
    spoil();
    expect(await rollBack()).toMatchObject({ runs: [], failed: { name: '20-drain', stops: true } });
    expect(said()).toEqual([]);
  });
});

test('one that hangs is ended at its limit', async () => {
  hook('before/10-backup', 'sleep 60', { timeout_seconds: 1 });
  expect((await run()).runs).toEqual([
    { name: '10-backup', stage: 'before', outcome: 'timed_out', seconds: expect.any(Number) },
  ]);
});

test('what is left of the time of a stage counts for all', async () => {
  hook('before/10-backup');
  hook('before/20-snapshot');
  let ms = 0;
  const { runs } = await run('before', FACTS, () => {
    const now = ms;
    ms += 46 * 60_000;
    return now;
  });
  expect(runs.map(({ outcome }) => outcome)).toEqual(['timed_out']);
  expect(said()).toEqual([]);
});

describe('none runs if one of them cannot be used', () => {
  test.each<[string, (program: string) => void]>([
    ['its program is writable by others', (program) => chmodSync(program, 0o777)],
    ['its program cannot be executed', (program) => chmodSync(program, 0o644)],
    [
      'its file is writable by others',
      () => chmodSync(join(world.folder, 'hooks.d/before/20-backup.json'), 0o666),
    ],
    [
      'it has a member that does not exist',
      () => world.hook('before/20-backup', { program: '/bin/sh', shell: true }),
    ],
    ['the folder is writable by others', () => chmodSync(join(world.folder, 'hooks.d/before'), 0o777)],
    ['the folder above is', () => chmodSync(join(world.folder, 'hooks.d'), 0o777)],
  ])('%s', async (_, spoil) => {
    hook('before/10-drain');
    spoil(hook('before/20-backup'));
    const { runs, failed } = await run();
    expect([runs, said()]).toEqual([[], []]);
    expect(failed).not.toBeNull();
  });
});

test('they are told facts, and inherit nothing', async () => {
  hook('after/10-facts', 'env | grep -E "^(TIDEGATE|AGENT)" | sort');
  process.env.AGENT_SECRET = 'x';
  const { output } = await run('after', { ...FACTS, outcome: 'failed' });
  delete process.env.AGENT_SECRET;
  expect(output.split('\n').filter((line) => line.includes('='))).toEqual([
    'TIDEGATE_CHANGE=update',
    `TIDEGATE_COMMAND_ID=${FACTS.commandId}`,
    'TIDEGATE_ECOSYSTEM=apt',
    'TIDEGATE_OUTCOME=failed',
    'TIDEGATE_PACKAGES=3',
    'TIDEGATE_STAGE=after',
  ]);
});

test('of what one says only the end is kept; all of it is heard while it runs', async () => {
  hook('before/10-backup', 'seq 1 20000');
  const { output } = await run();
  expect(output.length).toBeLessThan(10_000);
  expect(output).toContain('20000\n[hook before/10-backup: ok');
  expect(heard).toContain('\n1\n2\n3\n');
});
