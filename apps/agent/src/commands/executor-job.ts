import { join } from 'node:path';
import {
  APPROVAL_MAX_BYTES,
  ApprovalPayload,
  type CommandPayload,
  Envelope,
} from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import { loadHostPolicy, type PolicyLoad } from '../host-policy/policy.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import type { PolicyVerdict } from '../host-policy/policy-rules.ts';
import type { ConfigFile } from '../identity/config-file.ts';
import { completeJob, JOB_FILES, type JobResult, makeJob, removeJob } from '../jobs/job-folder.ts';
import type { Executor, ExecutorAccess, JobOutcome, StartedJob } from '../jobs/start-executor.ts';
import { agentEvent } from '../journal/events.ts';
import type { Journal } from '../journal/journal.ts';
import type { OutputFollower } from '../output/follow-outputs.ts';
import { backOffMs, type Pause } from '../platform/back-off.ts';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { describeFailure, type Outcome } from '../platform/failures.ts';
import { ownUid, readTrusted } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import type { ProbeWatch } from '../probes/probe-watch.ts';
import type { ServerClient } from '../session/server-client.ts';
import type { Session } from '../session/session.ts';
import { permissionOf, STATE_REFUSAL_TEXT } from '../trust/agent-state.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';
import { type CommandEnd, fail, refuse } from './command-end.ts';
import { chainForExecutor } from './executor-key-chain.ts';
import { fetchAgentState } from './fetch-agent-state.ts';
import { keepStateFresh } from './keep-state-fresh.ts';
import { reportRunning } from './report-running.ts';

/** How long an executor that ended without a result may have been ended by the reboot. */
const DOWN_WAIT_MS = 2 * 60_000;
/** Updates that an event names. */
const EVENT_UPDATES_MAX = 50;

/** What is needed to hand work to the executor. */
export interface JobDependencies {
  config: ConfigFile;
  session: Session;
  journal: Pick<Journal, 'highest' | 'hasInstalledSince'>;
  /** For the key sets that the executor has not seen (E8). */
  client: ServerClient;
  executor: ExecutorAccess;
  /** The executor checks it itself; the agent checks it to avoid work that would be refused. */
  policy: PolicyPlace;
  runExecutor: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  awaitResult: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  outputs: Pick<OutputFollower, 'follow'>;
  probes: Pick<ProbeWatch, 'look'>;
  /** Of the boot in which this process runs. */
  bootId: string;
  log: Log;
  random: () => number;
  /** `trustedNow`. */
  nowMs: () => number;
}

/** Commands that root carries out. */
export type RootAction = 'install_update' | 'repair' | 'reboot' | 'restart_services';

/** The accepted command, as parsed and as the bytes that the executor will verify again. */
export interface JobCommand<A extends RootAction> {
  command: Extract<CommandPayload, { action: A }>;
  envelope: Uint8Array;
  pause: Pause;
  /** Fires when this process is to end. */
  stopping: AbortSignal;
}

/**
 * Hands a job to the executor and reports what it did. The signed state is fetched last so that it is fresh: the
 * executor checks that the command may still be carried out. Only an installation has an approval.
 */
export async function handOver(
  dependencies: JobDependencies,
  executor: Executor,
  job: JobCommand<RootAction> & { folder: string; approval: VerifiedApproval | null },
): Promise<CommandEnd | 'left'> {
  const { config, nowMs } = dependencies;
  const { command, approval, folder, pause } = job;
  // The executor installs only with what root's probes saw just before; a repair mends what may be red.
  if (approval !== null) await dependencies.probes.look(pause);
  const request = {
    permission: permissionOf(command, approval),
    ...{ epoch: command.epoch, executorState: executor.state, lagUntilMs: nowMs() + CLOCK_SKEW_MS },
  };
  const patience = { untilMs: Date.parse(command.expires_at), pause };
  const stated = await insist(dependencies, 'the state', patience, () =>
    fetchAgentState(dependencies, request),
  );
  if (!stated.ok) {
    const reason = `the state could not be fetched: ${describeFailure(stated.failure)}`;
    return fail(dependencies, reason, stated.failure);
  }
  const { envelope: state, refusal } = stated.value;
  if (refusal !== null) return refuse(dependencies, refusal, STATE_REFUSAL_TEXT[refusal]);
  const keyChain = await chainForExecutor(dependencies, executor.state);
  const documents = { command: job.envelope, approval: approval?.envelope ?? null };
  completeJob(folder, { ...documents, keySet: config.current().key_set, keyChain, state });
  const startedAt = timestamp(nowMs());
  // The job waits for no answer: the state that it was given grows old.
  if (approval !== null) void reportRunning(dependencies, command.command_id, { installing_at: startedAt });
  const started = { folder, commandId: command.command_id };
  const over = new AbortController();
  if (command.action === 'reboot') {
    void keepStateFresh(dependencies, { folder, pause, isOver: over.signal });
  }
  const result = await runJob(dependencies, executor, { ...started, stopping: job.stopping });
  over.abort();
  if (result === 'left') return result;
  // The end of the boot may have ended the executor first: this process is next.
  if (result === null && command.action === 'reboot' && !(await pause(DOWN_WAIT_MS))) return 'left';
  return result === null
    ? vanished(dependencies, startedAt)
    : reportJob(dependencies, approval?.payload ?? null, result);
}

/** Makes the folder of a job for one use, and removes it unless the job goes on without this process. */
export async function withJob(
  executor: Executor,
  commandId: string,
  use: (job: ReturnType<typeof makeJob>) => Promise<CommandEnd | 'left'>,
): Promise<CommandEnd | 'left'> {
  const job = makeJob(executor.spool, commandId);
  let isLeft = false;
  try {
    const end = await use(job);
    isLeft = end === 'left';
    return end;
  } finally {
    if (!isLeft) removeJob(job.folder);
  }
}

/** A policy file that this user may not read is left to the executor. Null when nothing is forbidden. */
export function askHost(
  dependencies: JobDependencies,
  judge: (loaded: PolicyLoad) => PolicyVerdict,
): CommandEnd | null {
  const loaded = loadHostPolicy(dependencies.policy);
  const verdict: PolicyVerdict = loaded.kind === 'unreadable' ? { ok: true } : judge(loaded);
  if (verdict.ok) return null;
  const { check, detail } = verdict;
  return refuse(dependencies, check, detail, `host_policy (${check})`);
}

/** Reports a job that an earlier process of this agent has handed over: what the executor found installed. */
export async function resumeJob(
  dependencies: JobDependencies,
  { commandId, acceptedAt }: { commandId: string; acceptedAt: string },
  stopping: AbortSignal,
): Promise<CommandEnd | 'left'> {
  const { executor } = dependencies;
  if (executor.how === 'none') return vanished(dependencies, acceptedAt);
  const folder = join(executor.spool, commandId);
  const result = await dependencies.awaitResult(executor, { folder, commandId }, stopping);
  if (result === 'left') return result;
  const approval = readHandedOver(folder);
  removeJob(folder);
  return result === null ? vanished(dependencies, acceptedAt) : reportJob(dependencies, approval, result);
}

/** The approval that the agent verified before it left it here; null when it is gone. It only names updates. */
export function readHandedOver(folder: string): ApprovalPayload | null {
  const trust = { maxBytes: APPROVAL_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(join(folder, JOB_FILES.approval), trust);
  const envelope = read.ok ? parseStrictJson(read.bytes) : read;
  if (!envelope.ok || !Check(Envelope, envelope.value)) return null;
  const payload = parseStrictJson(Buffer.from(envelope.value.payload, 'base64'));
  return payload.ok && Check(ApprovalPayload, payload.value) ? payload.value : null;
}

/**
 * Retries while the server cannot be reached or cannot answer, until the command expires. Any answer about the
 * approval is final: 404 means that it was revoked.
 */
export async function insist<T>(
  { nowMs, random, log }: JobDependencies,
  what: string,
  { untilMs, pause }: { untilMs: number; pause: Pause },
  fetch: () => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  for (let failures = 1; ; failures += 1) {
    const fetched = await fetch();
    if (fetched.ok || fetched.failure.kind !== 'retryable') return fetched;
    const { detail, retryAfterMs } = fetched.failure;
    const waitMs = backOffMs(failures, random(), retryAfterMs);
    if (nowMs() + waitMs >= untilMs) return fetched;
    log.warn('a document for an installation cannot be fetched yet', {
      document: what,
      reason: detail,
      wait_seconds: Math.ceil(waitMs / 1_000),
    });
    if (!(await pause(waitMs))) return fetched;
  }
}

/** Live output is followed concurrently; neither the job nor its report waits for it. */
async function runJob(
  { runExecutor, outputs }: JobDependencies,
  executor: Executor,
  { stopping, ...job }: StartedJob & { stopping: AbortSignal },
): Promise<JobOutcome> {
  const followed = outputs.follow(job.commandId);
  let outcome: JobOutcome = null;
  try {
    outcome = await runExecutor(executor, job, stopping);
    return outcome;
  } finally {
    if (outcome !== 'left') followed.end(); // the next process goes on
  }
}

/** Turns the executor's result into security events. */
function reportJob(
  dependencies: JobDependencies,
  payload: ApprovalPayload | null,
  job: JobResult,
): CommandEnd {
  // The host has changed since the approval, but nobody else has changed it: the server asks for a new plan.
  const isDrift = job.failure === 'plan_drift';
  const isExpected = isDrift && payload !== null && hasSiblings(dependencies, payload);
  const type = isExpected ? null : eventTypeOf(job);
  const reason = job.result.reason ?? '';
  const details = {
    command_id: job.command_id,
    ...(payload === null ? {} : namedUpdates(payload)),
    check: job.check ?? job.failure,
    by: 'executor',
  };
  const events = type === null ? [] : [agentEvent(type, reason, { nowMs: dependencies.nowMs(), details })];
  return { result: job.result, events, failure: null };
}

/** Whether another approved installation has run since this approval was issued. */
function hasSiblings({ journal }: JobDependencies, { issued_at: issuedAt }: ApprovalPayload): boolean {
  return journal.hasInstalledSince(Date.parse(issuedAt));
}

/** The first updates of an approval, for an event: its details are bounded. */
export function namedUpdates({ updates }: ApprovalPayload): { update_ids: string[]; update_count: number } {
  const named = updates.slice(0, EVENT_UPDATES_MAX).map(({ update_id }) => update_id);
  return { update_ids: named, update_count: updates.length };
}

function eventTypeOf({ failure }: JobResult) {
  switch (failure) {
    case null:
    case 'unfit': // the probes that are red have events of their own
    case 'install_failed':
    case 'repair_failed':
    case 'reboot_blocked':
    case 'reboot_failed':
    case 'boot_id_unchanged':
    case 'restart_failed':
    case 'agent_failed_before':
      return null;
    case 'plan_drift':
      return 'PLAN_DRIFT';
    case 'artifact_extra':
    case 'artifact_missing':
    case 'artifact_not_a_file':
    case 'artifact_size_differs':
    case 'artifact_hash_differs':
    case 'artifact_unsigned':
    case 'release_refused':
      return 'ARTIFACT_MISMATCH';
    case 'command_refused':
    case 'approval_refused':
    case 'state_refused':
    case 'not_an_install':
    case 'host_policy':
    case 'repair_differs':
    case 'core_service':
    case 'unsupported_host':
      return 'COMMAND_REFUSED';
    case 'hook_failed':
    case 'not_set_up':
    case 'network_present':
    case 'job_unreadable':
    case 'unsupported_ecosystem':
    case 'evidence_missing':
    case 'packages_broken':
    case 'transaction_interrupted':
    case 'packages_locked':
    case 'package_held':
    case 'space_insufficient':
    case 'storage_failed':
      return 'AGENT_ERROR';
  }
}

function vanished({ nowMs }: JobDependencies, startedAt: string): CommandEnd {
  const reason =
    'The executor ended without a result; look at its log and at the package manager of this host.';
  const event = agentEvent('AGENT_ERROR', reason, { nowMs: nowMs(), details: { check: 'no_result' } });
  const finished_at = timestamp(nowMs());
  return {
    result: { status: 'interrupted', reason, started_at: startedAt, finished_at },
    events: [event],
    failure: null,
  };
}
