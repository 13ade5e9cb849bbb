import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { ApprovedUpdate } from '@tidegate/protocol/documents';
import { missedTargets, type PlanAction } from '@tidegate/protocol/plan';
import type { InstallOutcome } from './installer.ts';

type Reported = NonNullable<CommandResult['updates']>;

/**
 * What became of each approved update: there before, installed by this run, or not. A run that failed may have
 * installed some of them; what counts is what the package manager has afterwards.
 */
export function updateOutcomes(
  updates: readonly ApprovedUpdate[],
  { outcome, reached }: { outcome: InstallOutcome; reached: readonly PlanAction[] },
): Reported {
  const open = missedTargets({ actions: [...reached] }, updates);
  const installed = (outcome.installed ?? []).map(
    ({ version, ...of }): PlanAction => ({ action: 'install', ...of, to_version: version }),
  );
  const lacking = outcome.ok ? [] : missedTargets({ actions: installed }, open);
  return updates.map((update) => ({
    update_id: update.update_id,
    outcome: lacking.includes(update) ? 'failed' : open.includes(update) ? 'installed' : 'already_installed',
  }));
}
