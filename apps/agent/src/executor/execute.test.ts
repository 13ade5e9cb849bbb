import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { Envelope } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLOCK_SKEW_MS, timestamp } from '../clock.ts';
import { completeJob, makeJob, READY_MARK, readResult } from '../job-folder.ts';
import { openJournal } from '../journal.ts';
import {
  bytesOf,
  createFleet,
  createKey,
  NOW_MS,
  revoked,
  type TestFleet,
  upgradeOf,
} from '../testing/fleet.ts';
import { type ExecuteOptions, executeJob } from './execute.ts';
import { loadExecutorState, saveExecutorState } from './executor-state.ts';
import type { Installer, InstallJob } from './installer.ts';

const bytes = new TextEncoder().encode('demo 2.0');
const FILE = 'demo_2.0_all.deb';
const action = upgradeOf({ name: FILE, bytes });

let fleet: TestFleet;
let folder: ReturnType<typeof tmpDir>;
let installs: InstallJob[];
let staged: string[];
let simulated: PlanAction[];
let seq = 0;

beforeEach(() => {
  folder = tmpDir();
  fleet = createFleet();
  installs = [];
  staged = [];
  simulated = [action];
  const machineFile = join(folder.path, 'machine-id');
  writeFileSync(machineFile, fleet.machineId);
  saveExecutorState(stateFolder(), {
    v: 1,
    fleet_id: fleet.fleetId,
    agent_id: fleet.agentId,
    machine_id_source: `file:${machineFile}`,
    trusted_keys: fleet.trusted,
    apt_config: null,
  });
});
afterEach(() => folder.remove());

const stateFolder = () => join(folder.path, 'executor');

const installer: Installer = {
  simulate: async () => ({ ok: true, actions: simulated }),
  install: async (job) => {
    installs.push(job);
    staged = readdirSync(job.stage);
    return { ok: true, installed: [{ name: 'demo', version: '2.0' }], output: 'Setting up demo' };
  },
};

interface JobParts {
  command?: object;
  approval?: Parameters<TestFleet['approval']>[0];
  commandId?: string;
  envelope?: (command: Envelope) => unknown;
  approvalEnvelope?: Envelope;
  keySet?: Envelope;
  state?: Envelope;
  signedBy?: ReturnType<typeof createKey>;
}

/** Leaves a job as an agent would; without changes it is a good one. */
function leaveJob(parts: JobParts = {}): string {
  const commandId = parts.commandId ?? randomUUID();
  const updateId = randomUUID();
  const approval = fleet.approval(
    { update_id: updateId, actions: [action], ...parts.approval },
    parts.signedBy,
  );
  seq += 1;
  const command = fleet.command(
    {
      seq,
      command_id: commandId,
      action: 'install_update',
      params: { update_id: updateId },
      approval: approval.reference,
      ...parts.command,
    },
    parts.signedBy,
  );
  const job = makeJob(join(folder.path, 'spool'), commandId);
  writeFileSync(join(job.artifacts, FILE), bytes);
  completeJob(job.folder, {
    command: bytesOf(parts.envelope?.(command) ?? command),
    approval: parts.approvalEnvelope ?? approval.envelope,
    keySet: parts.keySet ?? fleet.keySet({ version: 1, keys: [fleet.key.entry] }),
    state: parts.state ?? null,
  });
  return job.folder;
}

function execute(job: string, changed: Partial<ExecuteOptions> = {}) {
  return executeJob({
    job,
    state: stateFolder(),
    installerOf: (ecosystem) => (ecosystem === 'apt' ? installer : null),
    nowMs: () => NOW_MS,
    findNetwork: () => null,
    ...changed,
  });
}

async function failureOf(job: string, changed: Partial<ExecuteOptions> = {}) {
  const outcome = await execute(job, changed);
  if (!outcome.ok) return outcome.detail;
  const { failure, check } = outcome.result;
  return check === null ? failure : `${failure} ${check}`;
}

test('an approved job is installed from copies, answered once, and its mark is removed', async () => {
  const job = leaveJob();
  expect(await execute(job)).toMatchObject({
    ok: true,
    result: { failure: null, result: { status: 'success', installed: [{ name: 'demo', version: '2.0' }] } },
  });
  expect(staged).toEqual([FILE]);
  expect(installs[0]?.stage.startsWith(stateFolder())).toBe(true);
  expect(existsSync(installs[0]?.stage ?? '')).toBe(false);
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
    ['approval_refused not_the_referenced_one', () => ({ approvalEnvelope: fleet.approval().envelope })],
    ['approval_refused expired', () => ({ approval: { expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) } })],
    ['approval_refused wrong_agent', () => ({ approval: { agent_id: randomUUID() } })],
    ['unsupported_ecosystem', () => ({ approval: { ecosystem: 'dnf' } })],
  ])('%s', async (expected, parts) => {
    expect(await failureOf(leaveJob(parts()))).toBe(expected);
    expect(installs).toEqual([]);
  });

  test('network_present: with a network it does not even look at the job', async () => {
    expect(await failureOf(leaveJob(), { findNetwork: () => 'interface eth0 has an address' })).toBe(
      'network_present',
    );
    expect(installs).toEqual([]);
  });

  test('artifact_hash_differs: the file was exchanged after the agent had verified it', async () => {
    const job = leaveJob();
    writeFileSync(join(job, 'artifacts', FILE), 'demo 6.6');
    expect(await failureOf(job)).toBe('artifact_hash_differs');
    expect(installs).toEqual([]);
  });

  test.each<[string, () => PlanAction[]]>([
    ['one package more', () => [action, { ...action, name: 'stowaway' }]],
    ['one package less', () => []],
    ['another version', () => [{ ...action, to_version: '1.9' }]],
    ['a removal', () => [{ action: 'remove', name: 'demo', from_version: '1.0' }]],
  ])('plan_drift: %s', async (_, drift) => {
    simulated = drift();
    expect(await failureOf(leaveJob())).toBe('plan_drift');
    expect(installs).toEqual([]);
  });
});

describe('replay', () => {
  test('the same job is not run twice, with or without its result', async () => {
    const job = leaveJob();
    await execute(job);
    expect(await failureOf(job)).toContain('has a result already');
    expect(installs).toHaveLength(1);
  });

  test('the bytes of an old command under a new job id are refused', async () => {
    const first = leaveJob();
    await execute(first);
    const second = leaveJob({
      envelope: () => JSON.parse(readFileSync(join(first, 'command.json'), 'utf8')),
    });
    expect(await failureOf(second)).toBe('command_refused stale_seq');
    expect(installs).toHaveLength(1);
  });

  test('a command in the folder of another one is refused', async () => {
    expect(await failureOf(leaveJob({ command: { command_id: randomUUID() } }))).toBe(
      'command_refused wrong_job',
    );
  });

  test('a job that was cut short by a crash is answered as interrupted and not run again', async () => {
    const job = leaveJob();
    const crash: Installer = { ...installer, install: () => Promise.reject(new Error('power cut')) };
    await expect(execute(job, { installerOf: () => crash })).rejects.toThrow('power cut');
    expect(await execute(job)).toMatchObject({ ok: true, result: { result: { status: 'interrupted' } } });
    expect(installs).toEqual([]);
  });

  test('the order that it has seen is its own, not the agent’s', async () => {
    await execute(leaveJob({ command: { seq: 500 } }));
    expect(await failureOf(leaveJob({ command: { seq: 499 } }))).toBe('command_refused stale_seq');
  });
});

describe('keys that a job brings (design reading 11)', () => {
  test('are taken when a pinned key vouches for them, and kept', async () => {
    const next = createKey(2);
    const keySet = fleet.keySet({ version: 2, keys: [fleet.key.entry, next.entry] });
    expect(await failureOf(leaveJob({ keySet, signedBy: next }))).toBeNull();
    expect(loadExecutorState(stateFolder())).toMatchObject({ state: { trusted_keys: { version: 2 } } });
  });

  test('are ignored when they vouch for themselves', async () => {
    const own = createKey(2);
    const keySet = fleet.keySet({ version: 2, keys: [own.entry], signedBy: own });
    expect(await failureOf(leaveJob({ keySet, signedBy: own }))).toBe('command_refused bad_signature');
    expect(loadExecutorState(stateFolder())).toMatchObject({ state: { trusted_keys: { version: 1 } } });
  });

  test('a revocation in the job applies to the command of the same job', async () => {
    const next = createKey(2);
    const add = fleet.keySet({ version: 2, keys: [fleet.key.entry, next.entry] });
    await execute(leaveJob({ keySet: add }));
    const revoke = fleet.keySet({ version: 3, keys: [revoked(fleet.key.entry), next.entry], signedBy: next });
    expect(await failureOf(leaveJob({ keySet: revoke }))).toBe('command_refused bad_signature');
  });
});

test('the signed server time ends a command though the host’s clock was set back (T16)', async () => {
  const state = fleet.state({ server_time: timestamp(NOW_MS + 48 * 3_600_000) });
  expect(await failureOf(leaveJob({ state }))).toBe('command_refused expired');
});

describe('files that others could have written', () => {
  test('a state folder that is writable by others is refused', async () => {
    chmodSync(stateFolder(), 0o777);
    expect(await failureOf(leaveJob())).toContain('can be written by others');
  });

  test('a job folder that is a link is not followed', async () => {
    const real = leaveJob();
    const link = join(folder.path, randomUUID());
    symlinkSync(real, link);
    expect(await failureOf(link)).toBe('job_unreadable');
  });

  test('a result that the agent could have written itself is not believed', () => {
    const commandId = randomUUID();
    const results = join(folder.path, 'fake', 'results');
    mkdirSync(results, { recursive: true });
    const result = { command_id: commandId, failure: null, check: null, result: { status: 'success' } };
    writeFileSync(join(results, `${commandId}.json`), JSON.stringify(result), { mode: 0o644 });
    const uid = process.geteuid?.() ?? 0;
    expect(readResult(join(folder.path, 'fake'), commandId, uid)).not.toBeNull();
    expect(readResult(join(folder.path, 'fake'), commandId, uid + 1)).toBeNull();
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
