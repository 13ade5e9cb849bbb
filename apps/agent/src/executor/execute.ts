import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  APPROVAL_MAX_BYTES,
  COMMAND_MAX_BYTES,
  type CommandPayload,
  Envelope,
} from '@tidegate/protocol/documents';
import type { RebootOrder, RestartOrder } from '@tidegate/protocol/reboots';
import type { Repair } from '@tidegate/protocol/repairs';
import { takesBack } from '@tidegate/protocol/rollbacks';
import { type Ecosystem, Uuid } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import type { HostPaths, OwnPlaces } from '../ecosystems/ecosystem.ts';
import { hostPaths, ownPlaces } from '../ecosystems/host-places.ts';
import { readHooks } from '../hooks/hook-file.ts';
import type { RunHooks } from '../hooks/run-hooks.ts';
import {
  judgeByHost,
  judgeRebootByHost,
  judgeRepairByHost,
  judgeRestartByHost,
  loadHostPolicy,
  type PolicyLoad,
  rebootBlockerNames,
  retryMs,
  stateMaxAgeMinutes,
} from '../host-policy/policy.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import type { PolicyVerdict } from '../host-policy/policy-rules.ts';
import { readMachineId } from '../identity/machine-id.ts';
import { type ExecutorState, loadExecutorState, saveExecutorState } from '../jobs/executor-state.ts';
import { ARTIFACTS_FOLDER, JOB_FILES, resultPath } from '../jobs/job-folder.ts';
import { type Journal, openJournal } from '../journal/journal.ts';
import { hasPassed, timestamp, trustedNow } from '../platform/clock.ts';
import { ownUid } from '../platform/file-layer.ts';
import { holdInstanceLock } from '../platform/instance-lock.ts';
import type { HostControl } from '../reboots/host-control.ts';
import {
  judgeByState,
  permissionOf,
  STATE_REFUSAL_TEXT,
  type StateRefusal,
  type VerifiedState,
  verifyAgentState,
} from '../trust/agent-state.ts';
import { KeyChain, takeNewest } from '../trust/trusted-keys-chain.ts';
import {
  APPROVAL_REFUSAL_TEXT,
  type VerifiedApproval,
  verifyApprovalBytes,
} from '../trust/verify-approval.ts';
import { COMMAND_REFUSAL_TEXT, verifyCommand } from '../trust/verify-command.ts';
import { type AgentWitness, endTrial, findTrial } from './agent-trial.ts';
import { witnessIn } from './agent-witness.ts';
import { withApprovedTransaction } from './approved-transaction.ts';
import { withHooks, withProbes } from './around-install.ts';
import { examineFitness } from './fit-host.ts';
import type { Installer, InstallJob } from './installer.ts';
import {
  type ExecuteOutcome,
  ended,
  hasResult,
  interrupted,
  type JobEnd,
  refused,
  withRetry,
  writeResult,
} from './job-result.ts';
import { type LiveOutput, openLater, openLiveOutput } from './live-output.ts';
import { ownAgentInstaller } from './own-agent.ts';
import { readJobFile, readJobJson, withJobFolder } from './read-job.ts';
import { afterReboot, type RebootMeans, rebootHost } from './reboot-host.ts';
import { hasRebootMark, leaveRebootMark } from './reboot-mark.ts';
import type { Repairer } from './repairer.ts';
import { restartServices } from './restart-services.ts';
import { hasOtherJob } from './spool.ts';
import { stageArtifacts } from './stage.ts';
import { updateOutcomes } from './update-outcomes.ts';
import { watchState } from './watch-state.ts';

const KEY_SET_MAX_BYTES = 256 * 1024;
const KEY_CHAIN_MAX_BYTES = 16 * 1024 * 1024;
const STATE_MAX_BYTES = 256 * 1024;

export interface ExecuteOptions {
  /** `<spool>/<command id>`, which the unprivileged agent wrote. */
  job: string;
  /** The executor's own folder. */
  state: string;
  /** The path of the host policy, which belongs to root: no job can name another. */
  policy: PolicyPlace;
  installerOf: (ecosystem: Ecosystem) => Installer | null;
  repairer: Repairer;
  /** Where root's probes leave what they saw. */
  lookFile: string;
  /** Runs root's hooks of a stage. */
  runHooks: RunHooks;
  /** The running host: its boot and its services. */
  host: HostControl;
  /** The report of root's observer. */
  serviceFile: string;
  nowMs: () => number;
  pause: (ms: number) => Promise<unknown>;
  /** The reachable part of the network; null when nothing is. */
  findNetwork: () => string | null;
}

/**
 * Carries out one job as root: trusts nothing from the agent, verifies everything again with its own keys, and
 * installs only what the token binds (A4), or does only what a command without one names. Each job gets exactly one
 * result.
 */
export async function executeJob(options: ExecuteOptions): Promise<ExecuteOutcome> {
  const commandId = basename(options.job);
  if (!Check(Uuid, commandId)) return { ok: false, detail: 'the job folder is not named by a command id' };
  const locked = await holdInstanceLock(options.state);
  if (!locked.ok) {
    const detail = `the executor cannot start: ${locked.detail}`;
    return { ok: false, detail, isBusy: locked.reason === 'held' };
  }
  try {
    const loaded = loadExecutorState(options.state);
    if (!loaded.ok) return { ok: false, detail: loaded.detail };
    const opened = openJournal(options.state, { nowMs: options.nowMs() });
    if (!opened.ok) return { ok: false, detail: opened.detail };
    const { journal } = opened;
    const path = resultPath(options.state, commandId);
    const end = await withJobFolder(options.job, async (folder) =>
      hasResult(path) ? null : judgeAndCarryOut(options, { commandId, folder, state: loaded.state, journal }),
    );
    if (end === null) return { ok: false, detail: `job ${commandId} has a result already` };
    return writeResult(path, commandId, end);
  } finally {
    locked.lock.release();
  }
}

interface Job {
  commandId: string;
  /** Uses the job folder through its descriptor, so that it cannot be replaced while it is read. */
  folder: string;
  state: ExecutorState;
  journal: Journal;
}

async function judgeAndCarryOut(options: ExecuteOptions, job: Job): Promise<JobEnd> {
  const network = options.findNetwork();
  if (network !== null) return refused('network_present', `an installation has no network, but ${network}`);
  const machine = readMachineId(job.state.machine_id_source);
  if (!machine.ok) return refused('not_set_up', machine.detail);
  const trust = advanceTrust(options, job);
  if (!trust.ok) return trust.end;
  const { state, nowMs, shown } = trust;

  const read = readJobFile(job.folder, JOB_FILES.command, COMMAND_MAX_BYTES);
  if (!read.ok && read.reason === 'too_large') {
    return refused('command_refused', COMMAND_REFUSAL_TEXT.too_large, 'too_large');
  }
  if (!read.ok) return refused('job_unreadable', 'the command of the job cannot be read');
  const judged = verifyCommand(read.bytes, {
    trusted: state.trusted_keys,
    agentId: state.agent_id,
    machineSha256: machine.sha256,
    highest: job.journal.highest(),
    nowMs,
    seen: job.journal.isKnown,
    strict: true, // whatever the agent is set to
  });
  if (!judged.ok) {
    const known = judged.command?.command_id === job.commandId && job.journal.isKnown(job.commandId);
    if (!known) return refused('command_refused', COMMAND_REFUSAL_TEXT[judged.reason], judged.reason);
    if (judged.command?.action === 'reboot') {
      return endKnownReboot(options, job, { state, command: judged.command });
    }
    return (await endKnownTrial(options, job, state)) ?? interrupted(nowMs);
  }
  const { command } = judged;
  if (command.command_id !== job.commandId) {
    return refused('command_refused', 'the job folder is named by the id of another command', 'wrong_job');
  }
  const judgedWork = judgeWork(job, state, command, nowMs);
  if (!judgedWork.ok) return judgedWork.end;
  const { work } = judgedWork;
  const stale = judgeState(options, job, { command, work, shown, state, nowMs });
  if (stale !== null) return refused('state_refused', STATE_REFUSAL_TEXT[stale], stale);
  const verified = { state, work, command, shown };
  const veto = askHost(options, job, verified);
  if (veto !== null) return veto;
  const accepted = job.journal.accept(command, nowMs);
  if (!accepted.ok) return refused('storage_failed', accepted.detail);
  const end = await carryOut(options, job, verified);
  const finished = job.journal.finish(command.command_id, { status: end.result.status });
  return finished.ok ? end : { ...end, failure: end.failure ?? 'storage_failed' };
}

/** The signed state in the job, and the newest signed time seen before. */
interface Shown {
  agentState: VerifiedState;
  before: string | null;
}

type Trust = { ok: true; state: ExecutorState; nowMs: number; shown: Shown } | { ok: false; end: JobEnd };

/** Accepts newer keys and the signed time from the job if the pinned keys vouch for them. */
function advanceTrust(options: ExecuteOptions, job: Job): Trust {
  let { state } = job;
  const nowMs = trustedNow(trustedNow(options.nowMs(), state.newest_state ?? null), job.journal.serverTime());
  const envelope = readJobJson(job.folder, JOB_FILES.keySet, KEY_SET_MAX_BYTES);
  const brought = readJobJson(job.folder, JOB_FILES.keyChain, KEY_CHAIN_MAX_BYTES);
  const chain = Check(KeyChain, brought) ? brought : null;
  const accepted = Check(Envelope, envelope)
    ? takeNewest(state.trusted_keys, { envelope, chain }, nowMs)
    : null;
  if (accepted?.ok) state = { ...state, trusted_keys: accepted.keys };
  const agentState = verifyAgentState(readJobJson(job.folder, JOB_FILES.state, STATE_MAX_BYTES), {
    trusted: state.trusted_keys,
    agentId: state.agent_id,
    nowMs,
  });
  const before = job.state.newest_state ?? null;
  if (agentState.ok && isLater(agentState.state.server_time, before)) {
    state = { ...state, newest_state: agentState.state.server_time };
  }
  if (state !== job.state) {
    const saved = saveExecutorState(options.state, state);
    if (!saved.ok) return { ok: false, end: refused('storage_failed', saved.detail) };
  }
  if (agentState.ok) {
    const noted = job.journal.noteState(agentState.state);
    if (!noted.ok) return { ok: false, end: refused('storage_failed', noted.detail) };
  }
  const laterMs = trustedNow(options.nowMs(), state.newest_state ?? null);
  const shown = { agentState, before };
  return { ok: true, state, nowMs: trustedNow(laterMs, job.journal.serverTime()), shown };
}

function isLater(time: string, than: string | null): boolean {
  return than === null || Date.parse(time) > Date.parse(than);
}

interface StateQuestion {
  command: CommandPayload;
  work: Work;
  shown: Shown;
  state: ExecutorState;
  nowMs: number;
}

/** Whether what permits the work is still valid: it may have been revoked after delivery. */
function judgeState(
  options: ExecuteOptions,
  job: Job,
  { command, work, shown, state, nowMs }: StateQuestion,
): StateRefusal | null {
  if (!shown.agentState.ok) return shown.agentState.reason;
  return judgeByState(shown.agentState.state, {
    permission: permissionOf(command, approvalOf(work)),
    epoch: Math.max(command.epoch, job.journal.highest().epoch),
    keySetVersion: state.trusted_keys.version,
    newestShown: shown.before,
    maxAgeMinutes: stateMaxAgeMinutes(loadHostPolicy(options.policy)),
    nowMs,
  });
}

/** What a verified command has root do. */
type Work =
  | { kind: 'install'; approval: VerifiedApproval }
  | { kind: 'repair'; repair: Repair }
  | { kind: 'reboot'; order: RebootOrder }
  | { kind: 'restart'; order: RestartOrder };

function approvalOf(work: Work): VerifiedApproval | null {
  return work.kind === 'install' ? work.approval : null;
}

type JudgedWork = { ok: true; work: Work } | { ok: false; end: JobEnd };

function judgeWork(job: Job, state: ExecutorState, command: CommandPayload, nowMs: number): JudgedWork {
  if (command.action === 'repair') {
    return { ok: true, work: { kind: 'repair', repair: command.params } };
  }
  if (command.action === 'reboot') return { ok: true, work: { kind: 'reboot', order: command.params } };
  if (command.action === 'restart_services') {
    return { ok: true, work: { kind: 'restart', order: command.params } };
  }
  if (command.action !== 'install_update' || command.approval === undefined) {
    return {
      ok: false,
      end: refused('not_an_install', 'root has nothing to do for this command, or it names no approval'),
    };
  }
  const read = readJobFile(job.folder, JOB_FILES.approval, APPROVAL_MAX_BYTES);
  if (!read.ok && read.reason === 'too_large') {
    return { ok: false, end: refused('approval_refused', APPROVAL_REFUSAL_TEXT.too_large, 'too_large') };
  }
  if (!read.ok) {
    return { ok: false, end: refused('job_unreadable', 'the approval of the job cannot be read') };
  }
  const judged = verifyApprovalBytes(read.bytes, {
    trusted: state.trusted_keys,
    agentId: state.agent_id,
    updateIds: command.params.update_ids,
    reference: command.approval,
    nowMs,
  });
  if (judged.ok) return { ok: true, work: { kind: 'install', approval: judged.approval } };
  return { ok: false, end: refused('approval_refused', APPROVAL_REFUSAL_TEXT[judged.reason], judged.reason) };
}

interface Verified {
  state: ExecutorState;
  work: Work;
  command: CommandPayload;
  shown: Shown;
}

/** Applies the host policy, whatever was signed; the file is re-read each time. Null when nothing is forbidden. */
function askHost(
  options: ExecuteOptions,
  job: Job,
  { state, work }: Pick<Verified, 'state' | 'work'>,
  nowMs = trustedNow(options.nowMs(), job.journal.serverTime()),
): JobEnd | null {
  const policy = loadHostPolicy(options.policy);
  const verdict = judgeWorkByHost(policy, { work, state, nowMs });
  if (verdict.ok) return null;
  const end = refused('host_policy', verdict.detail, verdict.check);
  const laterMs = verdict.check === 'outside_hours' ? retryMs(policy, nowMs) : null;
  // An installation outside the hours is deferred by the agent, which keeps its approval.
  return laterMs === null || work.kind === 'install' ? end : withRetry(end, laterMs);
}

function judgeWorkByHost(
  policy: PolicyLoad,
  { work, state, nowMs }: { work: Work; state: ExecutorState; nowMs: number },
): PolicyVerdict {
  switch (work.kind) {
    case 'install':
      return judgeByHost(policy, { approval: work.approval, trusted: state.trusted_keys, nowMs });
    case 'repair':
      return judgeRepairByHost(policy, { repair: work.repair, nowMs });
    case 'reboot':
      return judgeRebootByHost(policy, { nowMs });
    case 'restart':
      return judgeRestartByHost(policy, { nowMs });
  }
}

async function carryOut(options: ExecuteOptions, job: Job, verified: Verified): Promise<JobEnd> {
  const { state, work, command } = verified;
  const { nowMs, pause } = options;
  if (work.kind === 'reboot') return rebootHost(work.order, rebootMeans(options, job, verified));
  if (work.kind === 'restart') {
    const { host, serviceFile } = options;
    const vetoAt = (timeMs: number) => vetoOf(options, job, { state, work, command }, timeMs);
    const means = { host, serviceFile, writerUid: ownUid(), paths: hostPaths(state.places), vetoAt };
    return restartServices(work.order, { ...means, nowMs, pause });
  }
  // The submitter may read the output: the folder is theirs, and so is its group at most.
  const readerGid = statSync(job.folder).gid;
  const heard = openLater(() => openLiveOutput(options.state, job.commandId, { readerGid, nowMs: nowMs() }));
  const means: Means = {
    paths: { ...hostPaths(state.places), own: ownPlacesOf(options, state) },
    nowMs,
    askAgain: () => hasEnded(work, nowMs()) ?? askHost(options, job, { state, work }),
    heard,
  };
  try {
    return work.kind === 'repair'
      ? await repairPackages(options.repairer, work.repair, means)
      : await install(options, job, { approval: work.approval, state }, means);
  } finally {
    heard.close();
  }
}

/** An approval may end, as a window does, while the job is copied and hooks run. */
function hasEnded(work: Work, nowMs: number): JobEnd | null {
  if (work.kind !== 'install' || !hasPassed(work.approval.payload.expires_at, nowMs)) return null;
  return refused('approval_refused', APPROVAL_REFUSAL_TEXT.expired, 'expired');
}

/** Why a command may not begin at this time: it has expired, or the host's policy forbids it. */
function vetoOf(
  options: ExecuteOptions,
  job: Job,
  { state, work, command }: Pick<Verified, 'state' | 'work' | 'command'>,
  timeMs: number,
): JobEnd | null {
  const atMs = trustedNow(timeMs, job.journal.serverTime());
  if (hasPassed(command.expires_at, atMs)) {
    return refused('command_refused', COMMAND_REFUSAL_TEXT.expired, 'expired');
  }
  return askHost(options, job, { state, work }, atMs);
}

function rebootMeans(
  options: ExecuteOptions,
  job: Job,
  { state, work, command, shown }: Omit<Verified, 'shown'> & { shown: Shown | null },
): RebootMeans {
  const { host, nowMs, pause, policy } = options;
  const firstState = shown?.agentState.ok ? shown.agentState.state.server_time : null;
  const askServer = watchState({
    ...{ folder: job.folder, journal: job.journal, permission: permissionOf(command, null) },
    ...{ trusted: state.trusted_keys, agentId: state.agent_id },
    epoch: Math.max(command.epoch, job.journal.highest().epoch),
    maxAgeMinutes: stateMaxAgeMinutes(loadHostPolicy(policy)),
    nowMs: () => trustedNow(nowMs(), job.journal.serverTime()),
    firstMs: firstState === null ? nowMs() : Date.parse(firstState),
  });
  return {
    ...{ host, paths: hostPaths(state.places), askServer, nowMs, pause },
    blockerNames: () => rebootBlockerNames(loadHostPolicy(policy)),
    hasOtherJob: () => hasOtherJob(dirname(options.job), job.commandId),
    vetoAt: (timeMs) => vetoOf(options, job, { state, work, command }, timeMs),
    leaveMark: () => leaveRebootMark(options.state, job.commandId),
  };
}

/** The executor was ended while it carried out this reboot: by the reboot, or before it. */
function endKnownReboot(
  options: ExecuteOptions,
  job: Job,
  { state, command }: { state: ExecutorState; command: Extract<CommandPayload, { action: 'reboot' }> },
): Promise<JobEnd> {
  const order = command.params;
  const means = rebootMeans(options, job, { state, command, work: { kind: 'reboot', order }, shown: null });
  return afterReboot(order, means, { wasBegun: hasRebootMark(options.state, job.commandId) });
}

/** The executor was ended while another version of the agent was on trial. Null: none was. */
async function endKnownTrial(
  options: ExecuteOptions,
  job: Job,
  state: ExecutorState,
): Promise<JobEnd | null> {
  const { host, nowMs, pause } = options;
  const places = ownPlacesOf(options, state);
  const trial = findTrial(places, job.commandId);
  if (trial === null) return null;
  const witness = witnessOf(options, job, state);
  return endTrial(trial, { places, host, witness, nowMs, pause, tell: () => {} });
}

function witnessOf({ nowMs }: ExecuteOptions, job: Job, state: ExecutorState): AgentWitness {
  return witnessIn(job.folder, {
    ...{ trusted: state.trusted_keys, agentId: state.agent_id },
    nowMs: () => trustedNow(nowMs(), job.journal.serverTime()),
  });
}

/** The agent itself is installed by a file of its own, as it takes more than its artifact. */
function installerFor(
  options: ExecuteOptions,
  job: Job,
  { ecosystem, state }: { ecosystem: Ecosystem; state: ExecutorState },
): Installer | null {
  if (ecosystem !== 'tidegate') return options.installerOf(ecosystem);
  const { host, nowMs, pause } = options;
  return ownAgentInstaller({
    ...{ commandId: job.commandId, host, nowMs, pause, witness: witnessOf(options, job, state) },
    read: (name, maxBytes) => {
      const read = readJobFile(job.folder, name, maxBytes);
      return read.ok ? read.bytes : null;
    },
  });
}

function ownPlacesOf({ state: executorState }: ExecuteOptions, { places }: ExecutorState): OwnPlaces {
  return ownPlaces(places, { executorState, ownerUid: ownUid(), server: null });
}

interface Means {
  paths: HostPaths;
  nowMs: () => number;
  askAgain: () => JobEnd | null;
  heard: LiveOutput;
}

async function install(
  options: ExecuteOptions,
  job: Job,
  { approval, state }: { approval: VerifiedApproval; state: ExecutorState },
  means: Means,
): Promise<JobEnd> {
  const { ecosystem, actions } = approval.payload;
  const installer = installerFor(options, job, { ecosystem, state });
  if (installer === null)
    return refused('unsupported_ecosystem', `${ecosystem} cannot be installed on this host`);
  const fitness = examineFitness(options, means.nowMs());
  // What is taken back to an earlier version is mended, as by a repair.
  const change = takesBack(approval.payload) ? 'rollback' : 'update';
  if (!fitness.ok && change === 'update') return withProbes(refused('unfit', fitness.detail), fitness.report);
  const stages = join(options.state, 'stage');
  removeContents(stages); // leftovers of a crash; the lock excludes another running job
  const stage = mkdtempSync(join(stages, 'job-')); // made with mode 0700
  try {
    const copied = stageArtifacts(actions, { from: join(job.folder, ARTIFACTS_FOLDER), to: stage });
    if (!copied.ok) return refused(copied.reason, copied.detail);
    const staged = { paths: means.paths, approval, stage };
    const hooks = readHooks(options.policy, 'before');
    const end = await withHooks({
      runHooks: options.runHooks,
      facts: { commandId: job.commandId, ecosystem, change, packages: actions.length },
      onOutput: means.heard.write,
      hasBefore: !hooks.ok || hooks.files.length > 0,
      rehearse: () => rehearse(installer, staged, means),
      install: () => installStaged(installer, staged, { ...means, begin: fitness.begin }),
    });
    return withProbes(end, fitness.report);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Simulates the transaction and commits nothing. Null: it would be carried out. */
async function rehearse(installer: Installer, job: InstallJob, { askAgain }: Means): Promise<JobEnd | null> {
  const done = await withApprovedTransaction(installer, job, async () => askAgain());
  return done.ok ? done.value : refused(done.reason, done.detail);
}

function removeContents(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

async function installStaged(
  installer: Installer,
  job: InstallJob,
  { nowMs, askAgain, heard, begin }: Means & { begin: () => void },
): Promise<JobEnd> {
  const done = await withApprovedTransaction(installer, job, async (commit, reached) => {
    const veto = askAgain(); // the window may have closed during copy and simulation
    if (veto !== null) return veto;
    begin();
    const startedAt = timestamp(nowMs());
    const outcome = await commit(heard.write);
    const times = { startedAt, finishedAt: timestamp(nowMs()) };
    if (!outcome.ok && outcome.reason !== 'install_failed') return refused(outcome.reason, outcome.detail);
    const updates = updateOutcomes(job.approval.payload.updates, { outcome, reached });
    return ended(outcome, { ...times, updates });
  });
  return done.ok ? done.value : refused(done.reason, done.detail);
}

async function repairPackages(
  repairer: Repairer,
  repair: Repair,
  { paths, nowMs, askAgain, heard }: Means,
): Promise<JobEnd> {
  const prepared = await repairer.prepare(paths, repair);
  if (!prepared.ok) return refused(prepared.reason, prepared.detail);
  const veto = askAgain(); // the window may have closed while another program had the lock
  if (veto !== null) return veto;
  const startedAt = timestamp(nowMs());
  const outcome = await prepared.commit(heard.write);
  const times = { startedAt, finishedAt: timestamp(nowMs()) };
  if (!outcome.ok && outcome.reason !== 'repair_failed') return refused(outcome.reason, outcome.detail);
  return ended(outcome, times);
}
