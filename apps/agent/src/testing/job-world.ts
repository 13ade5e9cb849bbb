import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Envelope } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Repair } from '@tidegate/protocol/repairs';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type ExecuteOptions, executeJob } from '../executor/execute.ts';
import type { Commit, Installer, InstallJob } from '../executor/installer.ts';
import type { ExecuteOutcome } from '../executor/job-result.ts';
import type { Repairer } from '../executor/repairer.ts';
import { runHooks } from '../hooks/run-hooks.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { saveExecutorState } from '../jobs/executor-state.ts';
import { completeJob, type JobDocuments, makeJob } from '../jobs/job-folder.ts';
import { openJournal } from '../journal/journal.ts';
import { timestamp } from '../platform/clock.ts';
import { ownUid } from '../platform/file-layer.ts';
import type { KeyChain } from '../trust/trusted-keys-chain.ts';
import { bytesOf, createFleet, NOW_MS, type TestFleet, type TestKey, updateOf, upgradeOf } from './fleet.ts';
import { createStandInHost, type StandInHost } from './stand-in-host.ts';

/** The one file of the update that every job here is about. */
export const FILE = 'demo_2.0_all.deb';
export const FILE_BYTES = new TextEncoder().encode('demo 2.0');

/** What is otherwise about a job than about a good one. */
export interface JobParts {
  command?: object;
  approval?: Parameters<TestFleet['approval']>[0];
  commandId?: string;
  envelope?: (command: Envelope) => unknown;
  approvalEnvelope?: Envelope;
  keySet?: Envelope;
  keyChain?: KeyChain;
  /** Null where the job brings none. */
  state?: Envelope | null;
  signedBy?: TestKey;
}

/** A host with an executor of its own, and an agent that leaves jobs for it. */
export interface JobWorld extends Disposable {
  fleet: TestFleet;
  folder: string;
  stateFolder: string;
  policy: PolicyPlace;
  action: PlanAction;
  /** What the package manager would do; the approved update unless a test changes it. */
  simulated: PlanAction[];
  simulations: number;
  installer: Installer;
  /** What the package manager does; it succeeds unless a test changes it. */
  install: (job: InstallJob, ...heard: Parameters<Commit>) => ReturnType<Commit>;
  installs: InstallJob[];
  /** The names that lay in the stage of the last installation. */
  staged: string[];
  /** What was repaired. */
  repairs: Repair[];
  repairer: Repairer;
  /** The running host, and how long was waited on it. */
  host: StandInHost;
  waitedMs: number;
  /** What happens while a job waits. */
  onWait: (waitedMs: number) => void;
  leaveJob(parts?: JobParts): string;
  execute(job: string, changed?: Partial<ExecuteOptions>): Promise<ExecuteOutcome>;
  /** Null when it was installed, else failure and check, or the fault where there was no result. */
  failureOf(job: string, changed?: Partial<ExecuteOptions>): Promise<string | null>;
  /** What the executor remembers: its state and journal, byte for byte. */
  remembered(): string;
}

export function createJobWorld(): JobWorld {
  const temporary = tmpDir();
  const folder = temporary.path;
  const stateFolder = join(folder, 'executor');
  const fleet = createFleet();
  const action = upgradeOf({ name: FILE, bytes: FILE_BYTES });
  const machineFile = join(folder, 'machine-id');
  writeFileSync(machineFile, fleet.machineId);
  saveExecutorState(stateFolder, {
    v: 1,
    fleet_id: fleet.fleetId,
    agent_id: fleet.agentId,
    machine_id_source: `file:/${machineFile.slice(1)}`,
    trusted_keys: fleet.trusted,
    places: {},
    newest_state: timestamp(NOW_MS),
  });
  const opened = openJournal(stateFolder, { nowMs: NOW_MS });
  if (opened.ok) opened.journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS) });
  let seq = 0;

  const world: JobWorld = {
    fleet,
    folder,
    stateFolder,
    policy: { path: join(folder, 'policy.json'), ownerUid: ownUid(), top: folder },
    action,
    simulated: [action],
    installs: [],
    staged: [],
    repairs: [],
    repairer: {
      prepare: async (_, repair) => ({
        ok: true,
        commit: async () => {
          world.repairs.push(repair);
          return { ok: true, installed: [], output: 'Setting up demo' };
        },
      }),
    },
    simulations: 0,
    host: createStandInHost(folder),
    waitedMs: 0,
    onWait: () => {},
    install: async (job) => {
      world.installs.push(job);
      world.staged = readdirSync(job.stage);
      return { ok: true, installed: [{ name: 'demo', version: '2.0' }], output: 'Setting up demo' };
    },
    installer: {
      prepare: async (job, work) => {
        world.simulations += 1;
        const commit: Commit = (onOutput) => world.install(job, onOutput);
        return { ok: true, value: await work({ actions: world.simulated, reached: [], commit }) };
      },
    },
    leaveJob: (parts = {}) => {
      seq += 1;
      return leaveJob(world, seq, parts);
    },
    execute: (job, changed = {}) =>
      executeJob({
        job,
        state: stateFolder,
        policy: world.policy,
        installerOf: (ecosystem) => (ecosystem === 'apt' ? world.installer : null),
        repairer: world.repairer,
        lookFile: join(folder, 'look.json'),
        runHooks: (...asked) =>
          runHooks({ policy: world.policy, elapsedMs: () => performance.now() }, ...asked),
        host: world.host.control,
        serviceFile: world.host.serviceFile,
        pause: async (ms) => {
          world.waitedMs += ms;
          world.onWait(world.waitedMs);
        },
        nowMs: () => NOW_MS + world.waitedMs,
        findNetwork: () => null,
        ...changed,
      }),
    failureOf: async (job, changed) => {
      const outcome = await world.execute(job, changed);
      if (!outcome.ok) return outcome.detail;
      const { failure, check } = outcome.result;
      return check === null ? failure : `${failure} ${check}`;
    },
    remembered: () =>
      ['state.json', 'journal.json']
        .filter((name) => readdirSync(stateFolder).includes(name))
        .map((name) => readFileSync(join(stateFolder, name), 'utf8'))
        .join('\n'),
    [Symbol.dispose]: temporary.remove,
  };
  return world;
}

/** Leaves a job as an agent would; without changes it is a good one. */
function leaveJob({ fleet, folder, action }: JobWorld, seq: number, parts: JobParts): string {
  const commandId = parts.commandId ?? randomUUID();
  const updateId = randomUUID();
  const approval = fleet.approval(
    { updates: [updateOf(updateId)], actions: [action], ...parts.approval },
    parts.signedBy,
  );
  const command = fleet.command(
    {
      seq,
      command_id: commandId,
      action: 'install_update',
      params: { update_ids: [updateId] },
      approval: approval.reference,
      ...parts.command,
    },
    parts.signedBy,
  );
  const keySet = parts.keySet ?? fleet.keySet({ version: 1, keys: [fleet.key.entry] });
  const documents: JobDocuments = {
    command: bytesOf(parts.envelope?.(command) ?? command),
    approval: parts.approvalEnvelope ?? approval.envelope,
    keySet,
    keyChain: parts.keyChain ?? null,
    state: parts.state === undefined ? currentState(parts, keySet, fleet) : parts.state,
  };
  const job = makeJob(join(folder, 'spool'), commandId);
  writeFileSync(join(job.artifacts, FILE), FILE_BYTES);
  completeJob(job.folder, documents);
  return job.folder;
}

/** The state that an honest agent fetches last: of the time of the job, its epoch and its key set. */
function currentState({ command = {}, signedBy }: JobParts, keySet: Envelope, fleet: TestFleet): Envelope {
  const { version }: { version: number } = JSON.parse(Buffer.from(keySet.payload, 'base64').toString());
  const epoch = 'epoch' in command && typeof command.epoch === 'number' ? command.epoch : 1;
  return fleet.agentState({ epoch, key_set_version: version }, signedBy);
}
