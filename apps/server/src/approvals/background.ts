import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import type { ApprovalDeps } from './deps.ts';
import { housekeepOnce } from './housekeeping.ts';
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

/** A database that is away must not end the process: the next run tries again. */
async function guarded(platform: Platform, message: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    platform.log.error(message, { error: String(error) });
  }
}
