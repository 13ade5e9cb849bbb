import { createLedgerUpkeep } from '../artifacts/ledger-upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import type { ApprovalDeps } from './deps.ts';
import { enforceDivergences } from './enforce-divergences.ts';
import { housekeepOnce } from './housekeeping.ts';
import { noteTrustedHost } from './note-trusted-hosts.ts';
import { sweepOnce } from './sweep.ts';

/** The sweep (A8) and the housekeeping of what expires, every SERVICE_SWEEP_INTERVAL_SECONDS. */
export function createApprovalBackground(
  deps: ApprovalDeps,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  return repeat({
    intervalMs,
    async run(isStopped) {
      await guarded(platform, 'housekeeping of approvals failed', () => housekeepOnce(deps));
      await guarded(platform, 'sweep of approvals failed', () => sweepOnce(deps, isStopped));
    },
  });
}

/**
 * The ledger of artifacts: what lost is held against live approvals, in a lane of its own, so that neither waits for
 * the sweep nor the sweep for a long queue; then what changed without a report is settled, and what nobody supports goes.
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
      await guarded(platform, 'noting a trusted host failed', () => noteTrustedHost(deps));
      await guarded(platform, 'tidying of the ledger failed', () => ledger.tidySome());
    },
  });
}

/** A database that is away must not end the process: the next run tries again. */
async function guarded(platform: Platform, message: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    platform.log.error(message, { error: String(error) });
  }
}
