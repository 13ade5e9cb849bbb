import { listenToHosts } from '../agents/listen-to-hosts.ts';
import { createLedgerUpkeep } from '../artifacts/ledger-upkeep.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import type { ApprovalDeps } from './deps.ts';
import { enforceDivergences } from './enforce-divergences.ts';
import { enforceHolds } from './enforce-holds.ts';
import { housekeepOnce } from './housekeeping.ts';
import { recordTrustedHost } from './record-trusted-hosts.ts';
import { sweepOnce } from './sweep.ts';

/** Runs the sweep (A8), every SERVICE_SWEEP_INTERVAL_SECONDS. */
export function createApprovalBackground(
  deps: ApprovalDeps,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  return repeat({
    intervalMs,
    async run(isStopped) {
      await guarded(platform, 'enforcement of holds failed', () => enforceHolds(deps, isStopped));
      await guarded(platform, 'sweep of approvals failed', () => sweepOnce(deps, isStopped));
    },
  });
}

/** Ends approvals, separately from the sweep: a long one would be a gap in which nobody listened to hosts. */
export function createHousekeeping(
  deps: Pick<ApprovalDeps, 'platform' | 'keyRing'>,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  const listening = listenToHosts(platform, intervalMs);
  return repeat({
    intervalMs,
    run: () => guarded(platform, 'housekeeping of approvals failed', () => housekeepOnce(deps, listening)),
  });
}

/**
 * Maintains the ledger of artifacts, separately so that it and the sweep do not delay each other: checks live approvals
 * for hashes that lost, settles divergences that changed without a report, and deletes what nobody reports.
 */
export function createLedgerBackground(
  deps: Pick<ApprovalDeps, 'platform'>,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  const ledger = createLedgerUpkeep(platform);
  return repeat({
    intervalMs,
    async run(isStopped) {
      await guarded(platform, 'settling of divergences failed', () => ledger.settleSome());
      await guarded(platform, 'enforcement of divergences failed', () => enforceDivergences(deps, isStopped));
      await guarded(platform, 'recording a trusted host failed', () => recordTrustedHost(deps));
      await guarded(platform, 'tidying of the ledger failed', () => ledger.tidySome());
    },
  });
}
