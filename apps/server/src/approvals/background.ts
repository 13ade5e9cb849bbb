import type { Platform } from '../platform/platform.ts';
import type { ApprovalDeps } from './deps.ts';
import { housekeepOnce } from './housekeeping.ts';
import { sweepOnce } from './sweep.ts';

export interface BackgroundWork {
  start(): void;
  /** Ends after the run that is under way. */
  stop(): Promise<void>;
}

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

function repeat(work: {
  intervalMs: number;
  run: (isStopped: () => boolean) => Promise<void>;
}): BackgroundWork {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> = Promise.resolve();
  let isStopped = false;
  function schedule(delayMs: number): void {
    timer = setTimeout(() => {
      running = work
        .run(() => isStopped)
        .then(() => {
          if (!isStopped) schedule(work.intervalMs);
        });
    }, delayMs);
    timer.unref();
  }
  return {
    start: () => schedule(0),
    async stop() {
      isStopped = true;
      if (timer) clearTimeout(timer);
      await running;
    },
  };
}
