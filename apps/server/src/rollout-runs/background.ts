import { listenToHosts } from '../agents/listen-to-hosts.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { createTurn } from '../policy-runs/run-policies.ts';
import { runRolloutsOnce } from './run-rollouts.ts';

/** Takes the rollouts of policies with rings on, again and again. */
export function createRolloutBackground(
  deps: ApprovalDeps,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  const refused = createRefused();
  const turn = createTurn();
  const listening = listenToHosts(platform, intervalMs);
  return repeat({
    intervalMs,
    run: (isStopped) =>
      guarded(platform, 'a run of the rollouts failed', () =>
        runRolloutsOnce(deps, { refused, listening, turn }, isStopped),
      ),
  });
}
