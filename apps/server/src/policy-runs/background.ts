import type { ApprovalDeps } from '../approvals/deps.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { announceWindows, type Looks } from './announce-windows.ts';
import { createRefused } from './refused.ts';
import { createTurn, runPoliciesOnce } from './run-policies.ts';

/** Lets the policies in force ask for approvals, again and again. */
export function createPolicyBackground(
  deps: ApprovalDeps,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  const refused = createRefused();
  const turn = createTurn();
  const looks: Looks = new Map();
  return repeat({
    intervalMs,
    async run(isStopped) {
      try {
        await runPoliciesOnce(deps, refused, isStopped, turn);
        await announceWindows(deps, looks, isStopped);
      } catch (error) {
        // An unavailable database must not end the process: the next run tries again.
        platform.log.error('a run of the policies failed', { error: String(error) });
      }
    },
  });
}
