import { join } from 'node:path';
import { judgeRebootByHost, judgeRestartByHost } from '../host-policy/policy.ts';
import { removeJob } from '../jobs/job-folder.ts';
import type { HandedCommand } from '../journal/journal.ts';
import type { Pause } from '../platform/back-off.ts';
import { timestamp } from '../platform/clock.ts';
import type { RestartWatch } from '../restarts/restart-watch.ts';
import { type CommandEnd, refuse } from './command-end.ts';
import {
  askHost,
  handOver,
  type JobCommand,
  type JobDependencies,
  resumeJob,
  withJob,
} from './executor-job.ts';
import { keepStateFresh } from './keep-state-fresh.ts';

/**
 * Hands a reboot to the executor. Usually this process ends before the command does: the journal remembers which boot
 * was to end, and the next process reports the new one.
 */
export async function rebootHost(
  dependencies: JobDependencies,
  reboot: JobCommand<'reboot'>,
): Promise<CommandEnd | 'left'> {
  const { executor, nowMs, bootId } = dependencies;
  const { command_id: commandId, params } = reboot.command;
  if (params.boot_id !== bootId) {
    return rebooted(dependencies, 'already_rebooted: that boot has ended before');
  }
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  const veto = askHost(dependencies, (loaded) => judgeRebootByHost(loaded, { nowMs: nowMs() }));
  if (veto !== null) return veto;
  return withJob(executor, commandId, ({ folder }) =>
    handOver(dependencies, executor, { ...reboot, folder, approval: null }),
  );
}

/** Ends a reboot that an earlier process has handed over: proven by another boot, or by what the executor left. */
export async function resumeReboot(
  dependencies: JobDependencies,
  handed: HandedCommand,
  { pause, stopping }: { pause: Pause; stopping: AbortSignal },
): Promise<CommandEnd | 'left'> {
  const { executor, bootId } = dependencies;
  const isAnotherBoot = handed.bootId !== bootId;
  if (executor.how === 'none') {
    return isAnotherBoot ? rebooted(dependencies) : resumeJob(dependencies, handed, stopping);
  }
  const { commandId } = handed;
  const folder = join(executor.spool, commandId);
  if (!isAnotherBoot) {
    const over = new AbortController();
    void keepStateFresh(dependencies, { folder, pause, isOver: over.signal });
    const end = await resumeJob(dependencies, handed, stopping);
    over.abort();
    return end;
  }
  const found = await dependencies.awaitResult(executor, { folder, commandId }, AbortSignal.abort());
  if (found !== null && found !== 'left') return resumeJob(dependencies, handed, stopping);
  removeJob(folder);
  return rebooted(dependencies);
}

function rebooted({ nowMs, bootId }: Pick<JobDependencies, 'nowMs' | 'bootId'>, reason?: string): CommandEnd {
  const finished_at = timestamp(nowMs());
  const told = reason === undefined ? {} : { reason };
  return { result: { status: 'success', finished_at, boot_id: bootId, ...told }, events: [], failure: null };
}

/** Hands the restart of services to the executor, with what root's observer sees now. */
export async function restartServices(
  dependencies: JobDependencies & { restarts: Pick<RestartWatch, 'refresh'> },
  restart: JobCommand<'restart_services'>,
): Promise<CommandEnd | 'left'> {
  const { executor, nowMs, restarts } = dependencies;
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  const veto = askHost(dependencies, (loaded) => judgeRestartByHost(loaded, { nowMs: nowMs() }));
  if (veto !== null) return veto;
  await restarts.refresh();
  return withJob(executor, restart.command.command_id, ({ folder }) =>
    handOver(dependencies, executor, { ...restart, folder, approval: null }),
  );
}
