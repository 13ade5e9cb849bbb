import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CommandResult, OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { ExecutorRefusal, JobResult } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { errorCode, writeDurably } from '../platform/file-layer.ts';
import { plainEnd, plainStart } from '../platform/plain-text.ts';
import type { InstallOutcome } from './installer.ts';
import type { RepairOutcome } from './repairer.ts';

const REASON_MAX_CHARS = 4_000;
/** How long a result is kept for an agent that has not fetched it. */
const RESULT_KEPT_MS = 30 * 24 * 3_600_000;
/** Maximum number of results kept, so that filling the spool cannot fill this folder. */
const RESULTS_MAX = 1_000;

/** The outcome of a job, without its id. */
export type JobEnd = Omit<JobResult, 'command_id'>;

export type ExecuteOutcome =
  | { ok: true; result: JobResult }
  /** No answer was possible: nothing was done and no result was written. `isBusy`: another executor runs. */
  | { ok: false; detail: string; isBusy?: boolean };

/** Nothing was started. `check` is the failed check of a signed document. */
export function refused(failure: ExecutorRefusal, detail: string, check: string | null = null): JobEnd {
  const named = check === null ? failure : `${failure} (${check})`;
  const reason = plainStart(`${named}: ${detail}`, REASON_MAX_CHARS);
  return { failure, check, result: { status: 'refused', reason } };
}

/** The executor was killed or lost power during this job: the state of the packages is unknown. */
export function interrupted(
  nowMs: number,
  reason = 'The executor stopped during the installation; check the package manager of this host.',
): JobEnd {
  const result: CommandResult = { status: 'interrupted', reason, finished_at: timestamp(nowMs) };
  return { failure: null, check: null, result };
}

/** It was begun, and did not come to what was ordered. */
export function failed(
  failure: ExecutorRefusal,
  detail: string,
  { startedAt, finishedAt }: { startedAt: string; finishedAt: string },
): JobEnd {
  const reason = plainStart(`${failure}: ${detail}`, REASON_MAX_CHARS);
  const result: CommandResult = { status: 'failed', reason, started_at: startedAt, finished_at: finishedAt };
  return { failure, check: null, result };
}

/** A refusal with the time from which the host would carry the command out. */
export function withRetry(end: JobEnd, retryMs: number): JobEnd {
  return { ...end, result: { ...end.result, retry_at: timestamp(retryMs) } };
}

/** What a package manager that was started has done. `updates` are those of an installation. */
export function ended(
  outcome: InstallOutcome | RepairOutcome,
  job: { updates?: NonNullable<CommandResult['updates']>; startedAt: string; finishedAt: string },
): JobEnd {
  const common = {
    started_at: job.startedAt,
    finished_at: job.finishedAt,
    // Agent and server refuse a result that contains U+0000.
    output_tail: plainEnd(outcome.output, OUTPUT_TAIL_MAX_CHARS),
    ...(job.updates && { updates: job.updates }),
  };
  if (outcome.ok) {
    const result: CommandResult = {
      status: 'success',
      exit_code: 0,
      ...common,
      installed: outcome.installed,
    };
    return { failure: null, check: null, result };
  }
  const reason = plainStart(`${outcome.reason}: ${outcome.detail}`, REASON_MAX_CHARS);
  const exitCode =
    outcome.exitCode === null ? {} : { exit_code: Math.min(Math.max(outcome.exitCode, -1), 255) };
  return {
    failure: outcome.reason,
    check: null,
    result: {
      ...{ status: 'failed', reason, ...exitCode, ...common },
      ...(outcome.installed && { installed: outcome.installed }),
    },
  };
}

/** Whether a job has a result; it is never processed again then. */
export function hasResult(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Leaves the result for the agent. */
export function writeResult(path: string, commandId: string, end: JobEnd): ExecuteOutcome {
  const result: JobResult = { command_id: commandId, ...end };
  try {
    removeOldResults(dirname(path));
    writeDurably(path, new TextEncoder().encode(JSON.stringify(result)), { mode: 0o644 });
    return { ok: true, result };
  } catch (error) {
    return { ok: false, detail: `the result cannot be written (${errorCode(error)})` };
  }
}

/** Results only inform the agent; the journal prevents a second installation. */
function removeOldResults(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), stat: lstatSync(join(folder, name)) }))
    .sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs);
  for (const [index, { path, stat }] of files.entries()) {
    if (index >= RESULTS_MAX - 1 || Date.now() - stat.mtimeMs > RESULT_KEPT_MS) rmSync(path, { force: true });
  }
}
