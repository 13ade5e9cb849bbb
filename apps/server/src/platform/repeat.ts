import type { Platform } from './platform.ts';

/** Work repeated behind the requests. */
export interface BackgroundWork {
  start(): void;
  /** Ends after the current run. */
  stop(): Promise<void>;
}

/** For the runs of `repeat`: an unavailable database must not end the process, and the next run tries again. */
export async function guarded(
  { log }: Pick<Platform, 'log'>,
  message: string,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.error(message, { error: String(error) });
  }
}

/** Runs immediately, and again after a pause. A run must not reject: it catches the errors that it knows. */
export function repeat(work: {
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
