/** Work that is done again and again behind the requests. */
export interface BackgroundWork {
  start(): void;
  /** Ends after the run that is under way. */
  stop(): Promise<void>;
}

/** Runs at once, and again so long after each end. A run must not reject: what can fail is caught where it is known. */
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
