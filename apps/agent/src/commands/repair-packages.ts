import { judgeRepairByHost } from '../host-policy/policy.ts';
import { type CommandEnd, refuse } from './command-end.ts';
import { askHost, handOver, type JobCommand, type JobDependencies, withJob } from './executor-job.ts';

/** Hands the repair of packages to the executor; nothing is changed by this process. */
export async function repairPackages(
  dependencies: JobDependencies,
  repair: JobCommand<'repair'>,
): Promise<CommandEnd | 'left'> {
  const { executor, nowMs } = dependencies;
  const { command_id: commandId, params } = repair.command;
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  const veto = askHost(dependencies, (loaded) =>
    judgeRepairByHost(loaded, { repair: params, nowMs: nowMs() }),
  );
  if (veto !== null) return veto;
  return withJob(executor, commandId, ({ folder }) =>
    handOver(dependencies, executor, { ...repair, folder, approval: null }),
  );
}
