import type { PlanAction } from '@tidegate/protocol/plan';
import type { Commit, Installer, InstallJob, PrepareRefusal } from './installer.ts';
import { planDifference } from './plan-difference.ts';

export type ApprovedOutcome<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'plan_drift' | PrepareRefusal; detail: string };

/**
 * Prepares a transaction and passes its commit and what is done already to `work` only if it is exactly what was approved (A4) and is not
 * done yet (decision 0040). It is simulated once, so `work` must commit immediately or not at all: the host may change while it waits.
 */
export async function withApprovedTransaction<T>(
  installer: Installer,
  job: InstallJob,
  work: (commit: Commit, reached: readonly PlanAction[]) => Promise<T>,
): Promise<ApprovedOutcome<T>> {
  const { actions: approved } = job.approval.payload;
  const prepared = await installer.prepare(
    job,
    async ({ actions, reached, commit }): Promise<ApprovedOutcome<T>> => {
      const difference = planDifference(approved, actions, reached);
      if (difference !== null) return { ok: false, reason: 'plan_drift', detail: difference };
      return { ok: true, value: await work(commit, reached) };
    },
  );
  if (prepared.ok) return prepared.value;
  const { reason = 'plan_drift', detail } = prepared;
  const isSimulated = reason === 'plan_drift' || reason === 'artifact_unsigned';
  return {
    ok: false,
    reason,
    detail: isSimulated ? `the transaction cannot be simulated: ${detail}` : detail,
  };
}
