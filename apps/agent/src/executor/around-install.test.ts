import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ProbeResult } from '@tidegate/protocol/probes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outputPath } from '../jobs/job-folder.ts';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { FAILED_BEFORE_NAME, writeLook } from '../probes/look-file.ts';
import { checksIn } from '../testing/checks-world.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { createJobWorld, type JobWorld } from '../testing/job-world.ts';
import { withHooks } from './around-install.ts';

let world: JobWorld;
let checks: ReturnType<typeof checksIn>;
beforeEach(() => {
  world = createJobWorld();
  checks = checksIn(world.folder);
  const { install } = world;
  world.install = (...asked) => {
    appendFileSync(log(), 'install\n');
    return install(...asked);
  };
});
afterEach(() => world[Symbol.dispose]());

const log = () => join(world.folder, 'log');
const happened = () => (existsSync(log()) ? readFileSync(log(), 'utf8').trim().split('\n') : []);

function hook(name: string, text = ''): void {
  const program = checks.script(
    name.replace('/', '-'),
    `echo "${name} $TIDEGATE_OUTCOME" >> ${log()}\n${text}`,
  );
  checks.hook(name, { program });
}

function saw(state: ProbeResult['state'], { ageMs = 0, failed = null as string[] | null } = {}): void {
  checks.probe('web', { kind: 'tcp', port: 80 });
  const report = {
    at: new Date(NOW_MS - ageMs).toISOString(),
    probes: [{ name: 'web', kind: 'tcp' as const, state, detail: 'ECONNREFUSED' }],
  };
  writeLook(join(world.folder, 'look.json'), { v: 1, report, failed_units: failed });
}

async function execute(job = world.leaveJob()) {
  const outcome = await world.execute(job);
  if (!outcome.ok) throw new Error(outcome.detail);
  return outcome.result;
}

describe('probes before an installation', () => {
  test('a host with a red probe is unfit: nothing is installed, and the result has what was seen', async () => {
    saw('red');
    const { failure, result } = await execute();
    expect(failure).toBe('unfit');
    expect(result).toMatchObject({
      ...{ status: 'refused', reason: 'unfit: the probe web is red: ECONNREFUSED' },
      probes: { before: { probes: [{ name: 'web', state: 'red' }] } },
    });
    expect(world.installs).toEqual([]);
  });

  test('a sound one is installed on, with what was seen in the result', async () => {
    saw('green');
    const { result } = await execute();
    expect(result).toMatchObject({ status: 'success', probes: { before: { probes: [{ state: 'green' }] } } });
  });

  test('what nobody has looked at is unfit', async () => {
    checks.probe('web', { kind: 'tcp', port: 80 });
    expect((await execute()).failure).toBe('unfit');
  });

  test('a repair is done on a host with a red probe: it mends', async () => {
    saw('red');
    const params = { packages: [] };
    const { result } = await execute(
      world.leaveJob({ command: { action: 'repair', params, approval: undefined } }),
    );
    expect(result.status).toBe('success');
  });

  test.each([
    ['downgrade', null],
    ['upgrade', 'unfit'],
  ] as const)('a host with a red probe, and an approved %s of the update: %s', async (action, expected) => {
    saw('red');
    world.action = { ...world.action, action };
    world.simulated = [world.action];
    const { failure, result } = await execute();
    expect(failure).toBe(expected);
    expect(result.probes).toMatchObject({ before: { probes: [{ name: 'web', state: 'red' }] } });
  });

  test('the units that have failed by now are kept when it begins, and not by one that is refused', async () => {
    const kept = join(world.stateFolder, FAILED_BEFORE_NAME);
    saw('green', { failed: ['old.service'] });
    world.simulated = [];
    expect((await execute()).failure).toBe('plan_drift');
    hook('before/10-backup', 'exit 1');
    world.simulated = [world.action];
    expect((await execute()).failure).toBe('hook_failed');
    expect(existsSync(kept)).toBe(false);
    hook('before/10-backup');
    expect((await execute()).failure).toBeNull();
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual({ v: 1, failed_units: ['old.service'] });
  });
});

describe('hooks around an installation', () => {
  test('run before and after it, are told how it ended, and are named in the result and its output', async () => {
    hook('before/10-drain', 'echo draining');
    hook('after/10-undrain', 'echo "back again"');
    const job = world.leaveJob();
    const { result } = await execute(job);
    expect(happened()).toEqual(['before/10-drain ', 'install', 'after/10-undrain success']);
    expect(result).toMatchObject({
      status: 'success',
      hooks: [
        { name: '10-drain', stage: 'before', outcome: 'ok' },
        { name: '10-undrain', stage: 'after', outcome: 'ok' },
      ],
    });
    expect(result.output_tail).toMatch(/draining[\s\S]*Setting up demo[\s\S]*back again/);
    expect(readFileSync(outputPath(world.stateFolder, basename(job)), 'utf8')).toContain('draining');
  });

  test('one that fails before it stops it; those after it undo what ran', async () => {
    hook('before/10-drain');
    hook('before/20-backup', 'echo "disk is full"; exit 1');
    hook('after/10-undrain');
    const { failure, result } = await execute();
    expect(failure).toBe('hook_failed');
    expect(result.status).toBe('refused');
    expect(result.reason).toMatch(/^hook_failed: 20-backup: .*disk is full/);
    expect(result.output_tail).toContain('disk is full');
    expect(happened()).toEqual(['before/10-drain ', 'before/20-backup ', 'after/10-undrain not_started']);
  });

  test.each([
    [true, ['before', 'after']],
    [false, ['before']],
  ])('those after it run if those before it may have: %s', async (mayHaveRun, stages) => {
    const asked: [string, string | undefined][] = [];
    const failed = { name: 'hooks.d', detail: 'the unit was killed', stops: true };
    const end = await withHooks({
      runHooks: async (stage, { outcome }) => {
        asked.push([stage, outcome]);
        return { runs: [], failed: stage === 'before' ? failed : null, output: '', mayHaveRun };
      },
      facts: {
        commandId: '11111111-1111-4111-8111-111111111111',
        ecosystem: 'apt',
        change: 'update',
        packages: 1,
      },
      onOutput: () => {},
      hasBefore: true,
      rehearse: async () => null,
      install: () => expect.unreachable(),
    });
    expect(end).toMatchObject({ failure: 'hook_failed', result: { status: 'refused' } });
    expect(asked.map(([stage]) => stage)).toEqual(stages);
    expect(asked[1]?.[1]).toBe(mayHaveRun ? 'not_started' : undefined);
  });

  test('one that fails before a rollback is told, and does not stop it unless root says so', async () => {
    world.action = { ...world.action, action: 'downgrade' };
    world.simulated = [world.action];
    hook('before/20-backup', 'exit 1');
    const { failure, result } = await execute();
    expect([failure, result.status]).toEqual([null, 'success']);
    expect(result.reason).toContain('hook_failed (before/20-backup)');
    const program = checks.script('drain', 'exit 1');
    checks.hook('before/30-drain', { program, rollback: 'must_succeed' });
    expect((await execute()).failure).toBe('hook_failed');
    expect(world.installs).toHaveLength(1);
  });

  test('one that cannot be used stops it before any has run', async () => {
    hook('before/10-drain');
    checks.hook('before/20-backup', { program: '/nowhere/backup' });
    hook('after/10-undrain');
    expect((await execute()).failure).toBe('hook_failed');
    expect(happened()).toEqual([]);
  });

  test('one that fails after it is told, and the installation stands', async () => {
    hook('after/10-check', 'exit 1');
    const { failure, result } = await execute();
    expect([failure, result.status]).toEqual([null, 'success']);
    expect(result.reason).toContain('hook_failed (after/10-check)');
  });

  test('a job that would be refused anyway drains nothing', async () => {
    hook('before/10-drain');
    world.simulated = [];
    expect((await execute()).failure).toBe('plan_drift');
    saw('red');
    world.simulated = [world.action];
    expect((await execute()).failure).toBe('unfit');
    expect(happened()).toEqual([]);
  });

  test('what changed while they ran refuses it as before: it is all verified again', async () => {
    hook('before/10-drain');
    hook('after/10-undrain');
    const { prepare } = world.installer;
    world.installer.prepare = (...asked) => {
      if (happened().length > 0) world.simulated = [];
      return prepare(...asked);
    };
    expect((await execute()).failure).toBe('plan_drift');
    expect(happened()).toEqual(['before/10-drain ', 'after/10-undrain not_started']);
  });

  test('an approval that ends while they run begins nothing', async () => {
    hook('before/10-drain');
    const job = world.leaveJob({ approval: { expires_at: timestamp(NOW_MS + 60_000) } });
    const nowMs = () => (happened().length === 0 ? NOW_MS : NOW_MS + 60_000 + CLOCK_SKEW_MS);
    expect(await world.failureOf(job, { nowMs })).toBe('approval_refused expired');
    expect(world.installs).toEqual([]);
  });

  test('without hooks a transaction is simulated once', async () => {
    await execute();
    expect(world.simulations).toBe(1);
  });
});
