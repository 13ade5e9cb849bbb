import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { HostLayout } from '../identity/config-file.ts';
import { holdInstanceLock } from '../platform/instance-lock.ts';
import { hasUnit } from '../platform/systemd-unit.ts';
import { DEFAULT_LOOK_FILE, OWN_LOOK_NAME } from '../probes/look-file.ts';
import {
  DEFAULT_EXECUTOR_STATE,
  DEFAULT_SPOOL,
  isMarkedReady,
  type JobResult,
  readResult,
} from './job-folder.ts';

/** Longest installation that the agent waits for; the executor itself gives up earlier. */
const EXECUTOR_MAX_MS = 3 * 60 * 60_000;
/** Poll interval for the result of a job started by systemd. */
const RESULT_POLL_MS = 500;
/** The trusted owner of job results; null on Windows, where files have no such owner. */
export const EXECUTOR_UID = process.platform === 'win32' ? null : 0;
const UNSHARE_PATHS = ['/usr/bin/unshare', '/bin/unshare'];

/** How an installation gets root rights, or why it cannot on this host (design.md, "root on the host"). */
export type ExecutorAccess =
  | { how: 'systemd'; spool: string; state: string }
  | { how: 'unshare'; program: string; spool: string; state: string }
  | { how: 'none'; detail: string };

/** What is true of this host and process. */
export interface HostFacts {
  uid: number | null;
  hasPathUnit: boolean;
  unshare: string | null;
}

export function readHostFacts(): HostFacts {
  return {
    uid: process.geteuid?.() ?? null,
    hasPathUnit: hasUnit('tidegate-executor.path'),
    unshare: UNSHARE_PATHS.find((path) => existsSync(path)) ?? null,
  };
}

/** The path unit where there is one; else a root agent starts the executor itself; else this host only reports. */
export function chooseExecutor(facts: HostFacts, layout: HostLayout): ExecutorAccess {
  const spool = layout.spool ?? DEFAULT_SPOOL;
  const state = layout.executor_state ?? DEFAULT_EXECUTOR_STATE;
  const isUsual = layout.spool === undefined && layout.executor_state === undefined;
  if (facts.hasPathUnit && isUsual) return { how: 'systemd', spool, state };
  if (facts.uid !== 0) {
    return { how: 'none', detail: 'this host has no tidegate-executor.path unit and the agent is not root' };
  }
  if (facts.unshare === null) {
    return {
      how: 'none',
      detail: 'unshare(1) is missing, so an installation could not be isolated from the network',
    };
  }
  return { how: 'unshare', program: facts.unshare, spool, state };
}

/** Where root's probes leave what they saw, for agent and executor. */
export function lookFileOf(access: ExecutorAccess): string {
  return access.how === 'unshare' ? join(access.state, OWN_LOOK_NAME) : DEFAULT_LOOK_FILE;
}

/** An executor that there is. */
export type Executor = Exclude<ExecutorAccess, { how: 'none' }>;

export interface StartedJob {
  folder: string;
  commandId: string;
}

/** Null: the executor ended, or time ran out, without a result. `left`: this process stops and the job goes on. */
export type JobOutcome = JobResult | null | 'left';

/**
 * Waits for the end of a job that is complete. An agent that is told to stop leaves the job to systemd's executor:
 * the job may be the one that restarts the agent, and would wait for it.
 */
export async function runExecutor(
  access: Executor,
  job: StartedJob & { policyPath: string; hostRoot: string },
  stopping: AbortSignal,
): Promise<JobOutcome> {
  if (access.how === 'systemd') return awaitResult(access, job, stopping);
  const [program, ...args] = selfCommand();
  const root = job.hostRoot === '/' ? [] : ['--host-root', job.hostRoot];
  const places = [
    '--state',
    access.state,
    '--policy',
    job.policyPath,
    '--probes',
    lookFileOf(access),
    ...root,
  ];
  const execute = [...args, 'execute', '--job', job.folder, ...places];
  const child = spawn(access.program, ['--net', '--', program, ...execute], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: EXECUTOR_MAX_MS,
  });
  await once(child, 'exit');
  return readResult(access.state, job.commandId, EXECUTOR_UID);
}

/** Waits for the result of a job that this process, or an earlier one, has handed over. */
export async function awaitResult(
  access: Executor,
  { folder, commandId }: StartedJob,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const deadlineMs = performance.now() + EXECUTOR_MAX_MS;
  while (performance.now() < deadlineMs) {
    // Asked first: the result is written before this ends.
    const isOpen = await isJobOpen(access, folder);
    const found = readResult(access.state, commandId, EXECUTOR_UID);
    if (found !== null || !isOpen) return found;
    if (stopping.aborted) return 'left';
    await pause(RESULT_POLL_MS, undefined, { signal: stopping }).catch(() => {});
  }
  return null;
}

/** systemd starts an executor as long as the mark is there; one that an agent has started itself holds its lock. */
async function isJobOpen(access: Executor, folder: string): Promise<boolean> {
  if (access.how === 'systemd') return isMarkedReady(folder);
  const locked = await holdInstanceLock(access.state);
  if (locked.ok) locked.lock.release();
  return !locked.ok && locked.reason === 'held';
}

/** How this very program is started: the compiled binary by itself, in development Node with the script. */
export function selfCommand(): [string, ...string[]] {
  const script = process.argv[1];
  const isCompiled =
    script === undefined || script.startsWith('/$bunfs/') || /^[A-Z]:[\\/]~BUN/i.test(script);
  return isCompiled ? [process.execPath] : [process.execPath, script];
}
