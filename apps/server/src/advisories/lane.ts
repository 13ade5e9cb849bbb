import { type Subject, subjectKey } from './subjects.ts';

/** A bounded queue of distinct subjects, processed in batches by one runner. */
export interface Lane {
  /** False when the queue is full. */
  add(subject: Subject): boolean;
  isBusyWith(subject: Subject): boolean;
  /** Takes nothing more from the queue. */
  stop(): Promise<void>;
}

export interface LaneOptions {
  /** Must not throw: nothing handles it. */
  readonly work: (subjects: readonly Subject[]) => Promise<void>;
  readonly batchMax: number;
  readonly queueMax: number;
}

export function createLane({ work, batchMax, queueMax }: LaneOptions): Lane {
  const queue = new Map<string, Subject>();
  const inFlight = new Set<string>();
  let running: Promise<void> | null = null;
  let isStopped = false;
  async function run(): Promise<void> {
    await Promise.resolve();
    while (queue.size > 0 && !isStopped) {
      const batch = [...queue].slice(0, batchMax);
      for (const [key] of batch) {
        queue.delete(key);
        inFlight.add(key);
      }
      await work(batch.map(([, subject]) => subject));
      inFlight.clear();
    }
    // Same event-loop turn as the last look at the queue: anything added later starts a new run.
    running = null;
  }
  return {
    add(subject) {
      const key = subjectKey(subject);
      if (inFlight.has(key)) return true;
      if (queue.size >= queueMax && !queue.has(key)) return false;
      queue.set(key, subject);
      running ??= run();
      return true;
    },
    isBusyWith: (subject) => inFlight.has(subjectKey(subject)),
    stop() {
      isStopped = true;
      return running ?? Promise.resolve();
    },
  };
}
