import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadExecutorState } from '../jobs/executor-state.ts';
import { READY_MARK, readResult } from '../jobs/job-folder.ts';
import { openJournal } from '../journal/journal.ts';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { createKey, NOW_MS, revoked } from '../testing/fleet.ts';
import { createJobWorld, FILE, type JobParts, type JobWorld } from '../testing/job-world.ts';
import type { Installer } from './installer.ts';

let world: JobWorld;
beforeEach(() => {
  world = createJobWorld();
});
afterEach(() => world[Symbol.dispose]());

const leaveJob = (parts?: JobParts) => world.leaveJob(parts);
const execute: JobWorld['execute'] = (job, changed) => world.execute(job, changed);
const failureOf: JobWorld['failureOf'] = (job, changed) => world.failureOf(job, changed);
const stateFolder = () => world.stateFolder;

test('an approved job is installed from copies and gets one result, and its marker is removed', async () => {
  const job = leaveJob();
  expect(await execute(job)).toMatchObject({
    ok: true,
    result: { failure: null, result: { status: 'success', installed: [{ name: 'demo', version: '2.0' }] } },
  });
  expect(world.simulations).toBe(1);
  expect(world.staged).toEqual([FILE]);
  expect(world.installs[0]?.stage.startsWith(stateFolder())).toBe(true);
  expect(existsSync(world.installs[0]?.stage ?? '')).toBe(false);
  expect(existsSync(join(job, READY_MARK))).toBe(false);
  const uid = process.geteuid?.() ?? null;
  expect(readResult(stateFolder(), basename(job), uid)).toMatchObject({ result: { status: 'success' } });
});

describe('nothing is installed when the executor’s own check fails (A4)', () => {
  const stranger = createKey(1);
  test.each<[string, () => JobParts]>([
    ['command_refused bad_signature', () => ({ signedBy: stranger })],
    ['command_refused unsigned', () => ({ envelope: (command) => ({ ...command, signatures: [] }) })],
    ['command_refused wrong_fleet', () => ({ command: { fleet_id: randomUUID() } })],
    ['command_refused wrong_agent', () => ({ command: { agent_id: randomUUID() } })],
    ['command_refused wrong_machine', () => ({ command: { machine_sha256: 'a'.repeat(64) } })],
    ['command_refused expired', () => ({ command: { expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) } })],
    ['command_refused not_yet_valid', () => ({ command: { not_before: timestamp(NOW_MS + 3_600_000) } })],
    ['not_an_install', () => ({ command: { action: 'scan', params: {}, approval: undefined } })],
    ['not_an_install', () => ({ command: { approval: undefined } })],
    [
      'approval_refused not_the_referenced_one',
      () => ({ approvalEnvelope: world.fleet.approval().envelope }),
    ],
    ['approval_refused expired', () => ({ approval: { expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) } })],
    ['approval_refused wrong_agent', () => ({ approval: { agent_id: randomUUID() } })],
    ['unsupported_ecosystem', () => ({ approval: { ecosystem: 'dnf' } })],
  ])('%s', async (expected, parts) => {
    expect(await failureOf(leaveJob(parts()))).toBe(expected);
    expect(world.installs).toEqual([]);
  });

  test('network_present: with a network the job is not read', async () => {
    expect(await failureOf(leaveJob(), { findNetwork: () => 'interface eth0 has an address' })).toBe(
      'network_present',
    );
    expect(world.installs).toEqual([]);
  });

  test('artifact_hash_differs: the file was replaced after the agent had verified it', async () => {
    const job = leaveJob();
    writeFileSync(join(job, 'artifacts', FILE), 'demo 6.6');
    expect(await failureOf(job)).toBe('artifact_hash_differs');
    expect(world.installs).toEqual([]);
  });

  test.each<[string, () => PlanAction[]]>([
    ['one package more', () => [world.action, { ...world.action, name: 'stowaway' }]],
    ['one package less', () => []],
    ['another version', () => [{ ...world.action, to_version: '1.9' }]],
    ['a removal', () => [{ action: 'remove', name: 'demo', from_version: '1.0' }]],
  ])('plan_drift: %s', async (_, drift) => {
    world.simulated = drift();
    expect(await failureOf(leaveJob())).toBe('plan_drift');
    expect(world.installs).toEqual([]);
  });
});

describe('host_policy: what this host allows, whatever was signed', () => {
  const restrict = (policy: object) =>
    writeFileSync(world.policy.path, JSON.stringify({ v: 1, ...policy }), { mode: 0o644 });
  const sunday = { hours: [{ days: ['sun'], from: '02:00', to: '04:00' }] };

  test.each<[string, object]>([
    ['ecosystem_not_allowed', { ecosystems: ['npm'] }],
    ['never_touch', { never_touch: { apt: ['dem*'] } }],
    ['outside_hours', sunday],
    [
      'second_signature_missing',
      {
        require_second_signature: {
          keys: [{ key_id: 'ops', public_key_hex: createKey(1).entry.public_key_hex }],
          threshold: 1,
        },
      },
    ],
    ['policy_unusable', { v: 2 }],
  ])('%s: nothing is staged, and nothing remembered', async (check, policy) => {
    restrict(policy);
    const before = world.remembered();
    expect(await failureOf(leaveJob())).toBe(`host_policy ${check}`);
    expect(world.installs).toEqual([]);
    expect(world.remembered()).toBe(before);
  });

  test('the result gives the operator the reason and the next allowed time', async () => {
    restrict(sunday);
    const outcome = await execute(leaveJob());
    const reason = expect.stringMatching(/^host_policy \(outside_hours\): .*2026-11-22T02:00Z/);
    expect(outcome).toMatchObject({ result: { result: { status: 'refused', reason } } });
  });

  test('a policy that allows the update lets it through', async () => {
    restrict({ ecosystems: ['apt'], never_touch: { apt: ['linux-*'] } });
    expect(await failureOf(leaveJob())).toBeNull();
  });

  test('it is asked again right before the installation', async () => {
    const late: Installer = {
      prepare: (job, work) => {
        restrict({ never_touch: { apt: ['demo'] } });
        return world.installer.prepare(job, work);
      },
    };
    expect(await failureOf(leaveJob(), { installerOf: () => late })).toBe('host_policy never_touch');
    expect(world.installs).toEqual([]);
  });

  test('setting the clock into the allowed hours does not help: the signed server time counts (T16)', async () => {
    restrict({ hours: [{ days: ['sat'], from: '10:00', to: '13:00' }] });
    const later = world.fleet.agentState({ server_time: timestamp(NOW_MS + 2 * 3_600_000) });
    expect(await failureOf(leaveJob({ state: later }))).toBe('host_policy outside_hours');
  });

  test('a job cannot supply its own policy', async () => {
    restrict({ ecosystems: ['npm'] });
    const job = leaveJob();
    writeFileSync(join(job, 'policy.json'), JSON.stringify({ v: 1 }));
    expect(await failureOf(job)).toBe('host_policy ecosystem_not_allowed');
  });
});

describe('replay', () => {
  test('the same job is not run twice, with or without its result', async () => {
    const job = leaveJob();
    await execute(job);
    expect(await failureOf(job)).toContain('has a result already');
    expect(world.installs).toHaveLength(1);
  });

  test('the bytes of an old command under a new job id are refused', async () => {
    const first = leaveJob();
    await execute(first);
    const second = leaveJob({
      envelope: () => JSON.parse(readFileSync(join(first, 'command.json'), 'utf8')),
    });
    expect(await failureOf(second)).toBe('command_refused stale_seq');
    expect(world.installs).toHaveLength(1);
  });

  test('a command in the folder of another one is refused', async () => {
    expect(await failureOf(leaveJob({ command: { command_id: randomUUID() } }))).toBe(
      'command_refused wrong_job',
    );
  });

  test('a job interrupted by a crash is reported as interrupted and not run again', async () => {
    const job = leaveJob();
    const { install } = world;
    world.install = () => Promise.reject(new Error('power cut'));
    await expect(execute(job)).rejects.toThrow('power cut');
    world.install = install;
    expect(await execute(job)).toMatchObject({ ok: true, result: { result: { status: 'interrupted' } } });
    expect(world.installs).toEqual([]);
  });

  test('remains of a crash in the stage are removed before the next job', async () => {
    const stage = join(stateFolder(), 'stage');
    mkdirSync(join(stage, 'job-crashed'));
    writeFileSync(join(stage, 'job-crashed', FILE), 'half');
    expect(await failureOf(leaveJob())).toBeNull();
    expect(readdirSync(stage)).toEqual([]);
  });

  test('it keeps its own highest sequence number, apart from the agent’s', async () => {
    await execute(leaveJob({ command: { seq: 500 } }));
    expect(await failureOf(leaveJob({ command: { seq: 499 } }))).toBe('command_refused stale_seq');
  });
});

describe('keys supplied with a job (design reading 11)', () => {
  test('are accepted and stored when a pinned key vouches for them', async () => {
    const next = createKey(2);
    const keySet = world.fleet.keySet({ version: 2, keys: [world.fleet.key.entry, next.entry] });
    expect(await failureOf(leaveJob({ keySet, signedBy: next }))).toBeNull();
    expect(loadExecutorState(stateFolder())).toMatchObject({ state: { trusted_keys: { version: 2 } } });
  });

  test('are ignored when they vouch for themselves', async () => {
    const own = createKey(2);
    const keySet = world.fleet.keySet({ version: 2, keys: [own.entry], signedBy: own });
    expect(await failureOf(leaveJob({ keySet, signedBy: own }))).toBe('command_refused bad_signature');
    expect(loadExecutorState(stateFolder())).toMatchObject({ state: { trusted_keys: { version: 1 } } });
  });

  test('a revocation in the job applies to the command of the same job', async () => {
    const next = createKey(2);
    const add = world.fleet.keySet({ version: 2, keys: [world.fleet.key.entry, next.entry] });
    await execute(leaveJob({ keySet: add }));
    const revoke = world.fleet.keySet({
      version: 3,
      keys: [revoked(world.fleet.key.entry), next.entry],
      signedBy: next,
    });
    expect(await failureOf(leaveJob({ keySet: revoke }))).toBe('command_refused bad_signature');
  });
});

test('the signed server time expires a command although the host’s clock was set back (T16)', async () => {
  const state = world.fleet.agentState({ server_time: timestamp(NOW_MS + 48 * 3_600_000) });
  expect(await failureOf(leaveJob({ state }))).toBe('command_refused expired');
});

describe('files that others could have written', () => {
  test('a state folder that is writable by others is refused', async () => {
    chmodSync(stateFolder(), 0o777);
    expect(await failureOf(leaveJob())).toContain('can be written by others');
  });

  test('a job folder that is a link is not followed', async () => {
    const real = leaveJob();
    const link = join(world.folder, randomUUID());
    symlinkSync(real, link);
    expect(await failureOf(link)).toBe('job_unreadable');
  });

  test('a marker that cannot be removed affects neither the result nor other jobs', async () => {
    const job = leaveJob();
    rmSync(join(job, READY_MARK));
    mkdirSync(join(job, READY_MARK, 'x'), { recursive: true });
    expect(await failureOf(job)).toBe('job_unreadable');
    expect(world.installs).toEqual([]);
  });

  test('a result that the agent could have written is not trusted', () => {
    const commandId = randomUUID();
    const results = join(world.folder, 'fake', 'results');
    mkdirSync(results, { recursive: true });
    const result = { command_id: commandId, failure: null, check: null, result: { status: 'success' } };
    writeFileSync(join(results, `${commandId}.json`), JSON.stringify(result), { mode: 0o644 });
    const uid = process.geteuid?.() ?? 0;
    expect(readResult(join(world.folder, 'fake'), commandId, uid)).not.toBeNull();
    expect(readResult(join(world.folder, 'fake'), commandId, uid + 1)).toBeNull();
  });
});

test('its journal remembers the job but not the output', async () => {
  const job = leaveJob();
  await execute(job);
  const opened = openJournal(stateFolder(), { nowMs: NOW_MS });
  expect(opened.ok && opened.journal.unreported()).toEqual([
    { commandId: basename(job), result: { status: 'success' } },
  ]);
});
