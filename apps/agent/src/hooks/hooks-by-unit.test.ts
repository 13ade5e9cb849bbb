import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import { hooksByUnit, runHooksOfUnit } from './hooks-by-unit.ts';
import type { HookFacts } from './run-hooks.ts';

const FACTS: HookFacts = {
  commandId: '11111111-1111-4111-8111-111111111111',
  ...{ ecosystem: 'apt', change: 'update', packages: 3, outcome: 'success' },
};
let world: ChecksWorld;
let state: string;
beforeEach(() => {
  world = createChecksWorld();
  state = join(world.folder, 'state');
  mkdirSync(state);
});
afterEach(() => world[Symbol.dispose]());

const run = (systemctl: string, facts = FACTS) =>
  hooksByUnit({ policy: world.policy, state, systemctl })('before', facts, () => {});

test('the executor hands stage, id and facts to the unit, takes its result, and leaves no file', async () => {
  world.hook('before/10-backup', { program: '/bin/true' });
  const runs = [{ name: '10-backup', stage: 'before', outcome: 'ok', seconds: 1 }];
  const end = JSON.stringify({ v: 1, runs, failed: null, output: 'saved' });
  const order = join(world.folder, 'order');
  const tool = world.script(
    'systemctl',
    `[ "$*" = "start tidegate-hooks@before-${FACTS.commandId}.service" ] || exit 9
cd ${state}/hooks && cp before-${FACTS.commandId}.json ${order}
umask 077 && echo '${end}' > before-${FACTS.commandId}.end.json`,
  );
  expect(await run(tool)).toEqual({ runs, failed: null, output: 'saved' });
  expect(JSON.parse(readFileSync(order, 'utf8'))).toEqual({
    ...{ v: 1, command_id: FACTS.commandId, ecosystem: 'apt', change: 'update', packages: 3 },
    outcome: 'success',
  });
  expect(readdirSync(join(state, 'hooks'))).toEqual([]);
});

test('without hooks no unit is started', async () => {
  expect(await run('/nowhere/systemctl')).toEqual({ runs: [], failed: null, output: '' });
});

test('a unit that is not installed is a hook that failed', async () => {
  world.hook('before/10-backup', { program: '/bin/true' });
  const { failed } = await run(world.script('systemctl', 'echo "Unit not found." >&2; exit 5'));
  expect(failed).toEqual({
    name: 'hooks.d',
    detail: expect.stringContaining('Unit not found'),
    stops: true,
  });
});

test('one whose unit is ended without a result may have run, so that those after it run', async () => {
  world.hook('before/10-drain', { program: '/bin/true' });
  expect(await run(world.script('systemctl', 'echo "Job failed: timeout" >&2; exit 1'))).toMatchObject({
    ...{ runs: [], mayHaveRun: true, failed: { name: 'hooks.d', stops: true } },
  });
});

test('it stops a rollback only if a hook has to succeed', async () => {
  const rollBack = () => run(world.script('systemctl', 'exit 5'), { ...FACTS, change: 'rollback' as const });
  world.hook('before/10-backup', { program: '/bin/true' });
  expect((await rollBack()).failed?.stops).toBe(false);
  world.hook('before/20-drain', { program: '/bin/true', rollback: 'must_succeed' });
  expect((await rollBack()).failed?.stops).toBe(true);
});

test('so is one that ends well without a result, also beside an old one', async () => {
  world.hook('before/10-backup', { program: '/bin/true' });
  mkdirSync(join(state, 'hooks'));
  const end = JSON.stringify({ v: 1, runs: [], failed: null, output: '' });
  writeFileSync(join(state, 'hooks', `before-${FACTS.commandId}.end.json`), end, { mode: 0o600 });
  const { failed } = await run(world.script('systemctl', 'exit 0'));
  expect(failed?.detail).toContain('left no result');
});

describe('the unit’s part', () => {
  const ofUnit = (instance: string) =>
    runHooksOfUnit({ policy: world.policy, state, elapsedMs: () => performance.now() }, instance);

  test.each(['', 'before', 'during-11111111-1111-4111-8111-111111111111', 'before-../../etc/passwd'])(
    'refuses the name %j',
    async (instance) => {
      expect((await ofUnit(instance)).ok).toBe(false);
    },
  );

  test('runs what root named, with the facts of the order, and leaves the result to root alone', async () => {
    world.hook('before/10-backup', { program: world.script('backup', 'echo "$TIDEGATE_PACKAGES"; exit 1') });
    mkdirSync(join(state, 'hooks'));
    const order = { v: 1, command_id: FACTS.commandId, ecosystem: 'apt', change: 'update', packages: 7 };
    writeFileSync(join(state, 'hooks', `before-${FACTS.commandId}.json`), JSON.stringify(order), {
      mode: 0o600,
    });
    expect(await ofUnit(`before-${FACTS.commandId}`)).toMatchObject({ ok: true });
    const path = join(state, 'hooks', `before-${FACTS.commandId}.end.json`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      ...{ v: 1, runs: [{ name: '10-backup', outcome: 'failed' }], failed: { name: '10-backup' } },
      output: expect.stringContaining('\n7\n'),
    });
  });

  test('runs nothing without an order of the executor, or with one for another command', async () => {
    world.hook('before/10-backup', { program: world.script('backup', `touch ${join(world.folder, 'ran')}`) });
    expect((await ofUnit(`before-${FACTS.commandId}`)).ok).toBe(false);
    mkdirSync(join(state, 'hooks'));
    const order = { v: 1, command_id: '22222222-2222-4222-8222-222222222222', ecosystem: 'apt', packages: 1 };
    writeFileSync(join(state, 'hooks', `before-${FACTS.commandId}.json`), JSON.stringify(order), {
      mode: 0o600,
    });
    expect((await ofUnit(`before-${FACTS.commandId}`)).ok).toBe(false);
    expect(existsSync(join(world.folder, 'ran'))).toBe(false);
  });
});
