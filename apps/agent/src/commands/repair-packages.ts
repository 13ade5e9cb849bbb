import { judgeRepairByHost, loadHostPolicy } from '../host-policy/policy.ts';
import { makeJob, removeJob } from '../jobs/job-folder.ts';
import { type CommandEnd, refuse } from './command-end.ts';
import { handOver, type JobCommand, type JobDependencies } from './executor-job.ts';

/** Hands the repair of packages to the executor; nothing is changed by this process. */
export async function repairPackages(
  dependencies: JobDependencies,
  repair: JobCommand<'repair'>,
): Promise<CommandEnd | 'left'> {
  const { executor, policy, nowMs } = dependencies;
  const { command } = repair;
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  const loaded = loadHostPolicy(policy);
  if (loaded.kind !== 'unreadable') {
    const verdict = judgeRepairByHost(loaded, { repair: command.params, nowMs: nowMs() });
    if (!verdict.ok) {
      return refuse(dependencies, verdict.check, verdict.detail, `host_policy (${verdict.check})`);
    }
  }
  const { folder } = makeJob(executor.spool, command.command_id);
  let isLeft = false;
  try {
    const end = await handOver(dependencies, executor, { ...repair, folder, approval: null });
    isLeft = end === 'left';
    return end;
  } finally {
    if (!isLeft) removeJob(folder);
  }
}
