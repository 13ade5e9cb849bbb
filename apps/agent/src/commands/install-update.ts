import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent, CommandResult } from '@tidegate/protocol/agent-api';
import {
  APPROVAL_MAX_BYTES,
  ApprovalPayload,
  type CommandPayload,
  Envelope,
} from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { type ArtifactVerdict, judgeArtifact } from '../ecosystems/judge-artifact.ts';
import { judgeByHost, loadHostPolicy } from '../host-policy/policy.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import type { ConfigFile } from '../identity/config-file.ts';
import { completeJob, JOB_FILES, type JobResult, makeJob, removeJob } from '../jobs/job-folder.ts';
import type { Executor, ExecutorAccess, JobOutcome, StartedJob } from '../jobs/start-executor.ts';
import { agentEvent } from '../journal/events.ts';
import type { Journal } from '../journal/journal.ts';
import type { OutputFollower } from '../output/follow-outputs.ts';
import { backOffMs, type Pause } from '../platform/back-off.ts';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { lackOfSpace } from '../platform/disk-space.ts';
import { describeFailure, type Failure, type Outcome, retryable } from '../platform/failures.ts';
import { errorCode, ownUid, readTrusted } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { plainStart } from '../platform/plain-text.ts';
import type { ServerClient } from '../session/server-client.ts';
import type { Session } from '../session/session.ts';
import { STATE_REFUSAL_TEXT } from '../trust/agent-state.ts';
import { APPROVAL_REFUSAL_TEXT, type VerifiedApproval, verifyApproval } from '../trust/verify-approval.ts';
import { chainForExecutor } from './executor-key-chain.ts';
import { fetchAgentState } from './fetch-agent-state.ts';

/** Updates that an event names. */
const EVENT_UPDATES_MAX = 50;

export interface InstallDependencies {
  config: ConfigFile;
  session: Session;
  journal: Pick<Journal, 'highest' | 'hasInstalledSince'>;
  /** For the key sets that the executor has not seen (E8). */
  client: ServerClient;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  executor: ExecutorAccess;
  /** The executor checks it itself; the agent checks it to avoid a download that would be refused. */
  policy: PolicyPlace;
  runExecutor: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  awaitResult: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  outputs: Pick<OutputFollower, 'follow'>;
  log: Log;
  random: () => number;
  /** `trustedNow`. */
  nowMs: () => number;
}

/** The accepted command, as parsed and as the bytes that the executor will verify again. */
export interface InstallCommand {
  command: Extract<CommandPayload, { action: 'install_update' }>;
  envelope: Uint8Array;
  pause: Pause;
  /** Fires when this process is to end. */
  stopping: AbortSignal;
}

/** The outcome of a command: the result to report, and the terminal failure if there was one. */
export interface CommandEnd {
  result: CommandResult;
  events: AgentEvent[];
  failure: Failure | null;
}

/** Prepares an approved installation and hands it to the executor; nothing is installed by this process. */
export async function installUpdate(
  dependencies: InstallDependencies,
  { command, envelope, pause, stopping }: InstallCommand,
): Promise<CommandEnd | 'left'> {
  const { executor, nowMs } = dependencies;
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  if (command.approval === undefined) {
    return refuse(dependencies, 'approval_missing', 'the command names no approval');
  }
  const { token_id: tokenId } = command.approval;
  const patience = { untilMs: Date.parse(command.expires_at), pause };
  const fetched = await insist(dependencies, 'an approval', patience, () =>
    fetchApproval(dependencies, tokenId),
  );
  if (!fetched.ok) {
    const reason = `the approval could not be fetched: ${describeFailure(fetched.failure)}`;
    return fail(dependencies, reason, fetched.failure);
  }
  const judged = verifyApproval(fetched.value, {
    trusted: dependencies.config.current().trusted_keys,
    agentId: command.agent_id,
    updateIds: command.params.update_ids,
    reference: command.approval,
    nowMs: nowMs(),
  });
  if (!judged.ok) return refuse(dependencies, judged.reason, APPROVAL_REFUSAL_TEXT[judged.reason]);
  const veto = askHost(dependencies, judged.approval);
  if (veto !== null) return veto;
  const { payload } = judged.approval;

  const job = makeJob(executor.spool, command.command_id);
  let isLeft = false;
  try {
    const brought = await bringArtifacts(dependencies, payload, job.artifacts);
    if (!brought.ok) return artifactFailure(dependencies, payload, brought);
    // Fetched last so that it is fresh: the executor checks that the approval is still valid.
    const request = {
      ...{ approval: judged.approval, epoch: command.epoch, executorState: executor.state },
      lagUntilMs: nowMs() + CLOCK_SKEW_MS,
    };
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
    const keySet = dependencies.config.current().key_set;
    completeJob(job.folder, { command: envelope, approval: fetched.value, keySet, keyChain, state });
    const startedAt = timestamp(nowMs());
    const started = { folder: job.folder, commandId: command.command_id };
    const result = await runJob(dependencies, executor, { ...started, stopping });
    isLeft = result === 'left';
    if (result === 'left') return result;
    return result === null ? vanished(dependencies, startedAt) : reportJob(dependencies, payload, result);
  } finally {
    if (!isLeft) removeJob(job.folder);
  }
}

/** Reports a job that an earlier process of this agent has handed over: what the executor found installed. */
export async function resumeInstall(
  dependencies: InstallDependencies,
  { commandId, acceptedAt }: { commandId: string; acceptedAt: string },
  stopping: AbortSignal,
): Promise<CommandEnd | 'left'> {
  const { executor } = dependencies;
  if (executor.how === 'none') return vanished(dependencies, acceptedAt);
  const folder = join(executor.spool, commandId);
  const result = await dependencies.awaitResult(executor, { folder, commandId }, stopping);
  if (result === 'left') return result;
  const payload = readHandedOver(folder);
  removeJob(folder);
  return result === null ? vanished(dependencies, acceptedAt) : reportJob(dependencies, payload, result);
}

/** The approval that the agent verified before it left it here; null when it is gone. It only names updates. */
function readHandedOver(folder: string): ApprovalPayload | null {
  const trust = { maxBytes: APPROVAL_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(join(folder, JOB_FILES.approval), trust);
  const envelope = read.ok ? parseStrictJson(read.bytes) : read;
  if (!envelope.ok || !Check(Envelope, envelope.value)) return null;
  const payload = parseStrictJson(Buffer.from(envelope.value.payload, 'base64'));
  return payload.ok && Check(ApprovalPayload, payload.value) ? payload.value : null;
}

/** Live output is followed concurrently; neither the job nor its report waits for it. */
async function runJob(
  { runExecutor, outputs }: InstallDependencies,
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

/** A policy file that this user may not read is left to the executor. Null when nothing is forbidden. */
function askHost(dependencies: InstallDependencies, approval: VerifiedApproval): CommandEnd | null {
  const loaded = loadHostPolicy(dependencies.policy);
  if (loaded.kind === 'unreadable') return null;
  const trusted = dependencies.config.current().trusted_keys;
  const verdict = judgeByHost(loaded, { approval, trusted, nowMs: dependencies.nowMs() });
  if (verdict.ok) return null;
  const { check, detail } = verdict;
  return refuse(dependencies, check, detail, `host_policy (${check})`);
}

/**
 * Retries while the server cannot be reached or cannot answer, until the command expires. Any answer about the
 * approval is final: 404 means that it was revoked.
 */
async function insist<T>(
  { nowMs, random, log }: InstallDependencies,
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

async function fetchApproval(
  { config, session }: InstallDependencies,
  tokenId: string,
): Promise<Outcome<Envelope>> {
  const answer = await session.call({
    method: 'GET',
    path: `/api/v1/agents/${config.current().agent_id}/approvals/${tokenId}`,
    maxAnswerBytes: APPROVAL_MAX_BYTES,
  });
  if (!answer.ok) return answer;
  if (Check(Envelope, answer.value.body)) return { ok: true, value: answer.value.body };
  return retryable('the approval is not an envelope');
}

type Brought =
  | { ok: true }
  | { ok: false; reason: 'fetch_failed' | 'space_insufficient' | 'artifact_mismatch'; detail: string };

/** A4: the agent verifies every hash too, although the executor does not rely on it. */
async function bringArtifacts(
  { drivers, paths }: InstallDependencies,
  payload: ApprovalPayload,
  directory: string,
): Promise<Brought> {
  const driver = drivers.find(({ ecosystem }) => ecosystem === payload.ecosystem);
  if (driver === undefined) {
    return {
      ok: false,
      reason: 'fetch_failed',
      detail: `${payload.ecosystem} is not supported on this host`,
    };
  }
  const sizeBytes = payload.actions.reduce((total, { artifact }) => total + (artifact?.size_bytes ?? 0), 0);
  const lack = lackOfSpace(directory, sizeBytes);
  if (lack !== null) return { ok: false, reason: 'space_insufficient', detail: `the download ${lack}` };
  const fetched = await driver.fetch(paths, { actions: payload.actions, directory });
  if (!fetched.ok) {
    const reason = fetched.reason.startsWith('artifact_mismatch') ? 'artifact_mismatch' : 'fetch_failed';
    return { ok: false, reason, detail: fetched.reason };
  }
  const mismatch = findMismatch(payload, directory);
  return mismatch === null ? { ok: true } : { ok: false, reason: 'artifact_mismatch', detail: mismatch };
}

export function findMismatch(payload: ApprovalPayload, directory: string): string | null {
  const unjudged = new Set(readdirSync(directory));
  for (const { artifact } of payload.actions) {
    // A valid approval has one artifact per file name, so actions that share a file are judged once.
    if (artifact === undefined || !unjudged.delete(artifact.filename)) continue;
    const judged = judgeFile(() => judgeArtifact(artifact, join(directory, artifact.filename)));
    if (!judged.ok) return judged.detail;
  }
  return null;
}

function judgeFile(
  judge: () => ArtifactVerdict,
): ArtifactVerdict | { ok: false; reason: 'storage_failed'; detail: string } {
  try {
    return judge();
  } catch (error) {
    return {
      ok: false,
      reason: 'storage_failed',
      detail: `an artifact cannot be read (${errorCode(error)})`,
    };
  }
}

function artifactFailure(
  dependencies: InstallDependencies,
  payload: ApprovalPayload,
  brought: Extract<Brought, { ok: false }>,
): CommandEnd {
  const end = fail(dependencies, `${brought.reason}: ${brought.detail}`, null);
  if (brought.reason !== 'artifact_mismatch') return end;
  const event = agentEvent('ARTIFACT_MISMATCH', brought.detail, {
    nowMs: dependencies.nowMs(),
    details: { check: brought.reason, token_id: payload.token_id, ...namedUpdates(payload) },
  });
  return { ...end, events: [event] };
}

/** Turns the executor's result into security events. */
function reportJob(
  dependencies: InstallDependencies,
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
function hasSiblings({ journal }: InstallDependencies, { issued_at: issuedAt }: ApprovalPayload): boolean {
  return journal.hasInstalledSince(Date.parse(issuedAt));
}

/** The first updates of an approval, for an event: its details are bounded. */
function namedUpdates({ updates }: ApprovalPayload): { update_ids: string[]; update_count: number } {
  const named = updates.slice(0, EVENT_UPDATES_MAX).map(({ update_id }) => update_id);
  return { update_ids: named, update_count: updates.length };
}

function eventTypeOf({ failure }: JobResult) {
  switch (failure) {
    case null:
    case 'install_failed':
      return null;
    case 'plan_drift':
      return 'PLAN_DRIFT';
    case 'artifact_extra':
    case 'artifact_missing':
    case 'artifact_not_a_file':
    case 'artifact_size_differs':
    case 'artifact_hash_differs':
    case 'artifact_unsigned':
      return 'ARTIFACT_MISMATCH';
    case 'command_refused':
    case 'approval_refused':
    case 'state_refused':
    case 'not_an_install':
    case 'host_policy':
      return 'COMMAND_REFUSED';
    case 'not_set_up':
    case 'network_present':
    case 'job_unreadable':
    case 'unsupported_ecosystem':
    case 'packages_broken':
    case 'transaction_interrupted':
    case 'packages_locked':
    case 'package_held':
    case 'space_insufficient':
    case 'storage_failed':
      return 'AGENT_ERROR';
  }
}

function vanished({ nowMs }: InstallDependencies, startedAt: string): CommandEnd {
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

function refuse(
  { nowMs }: InstallDependencies,
  check: string,
  detail: string,
  named: string = check,
): CommandEnd {
  const event = agentEvent('COMMAND_REFUSED', detail, { nowMs: nowMs(), details: { check } });
  return { result: { status: 'refused', reason: `${named}: ${detail}` }, events: [event], failure: null };
}

function fail({ nowMs }: InstallDependencies, reason: string, failure: Failure | null): CommandEnd {
  const at = timestamp(nowMs());
  const isTerminal = failure?.kind === 'terminal' || failure?.kind === 'storage';
  return {
    result: { status: 'failed', reason: plainStart(reason, 4_000), started_at: at, finished_at: at },
    events: [],
    failure: isTerminal ? failure : null,
  };
}
