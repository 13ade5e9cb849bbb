import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { IS_BUNDLED } from '../platform/program.ts';
import type { PartVerifier } from './pass-parts.ts';
import type { ChainPart } from './verify-chain.ts';
import type { DatabasePlace } from './verify-worker.ts';

const WORKER = new URL(IS_BUNDLED ? './verify-worker.js' : './verify-worker.ts', import.meta.url);
/** Each thread has a connection to the database; past this many the database is the limit. */
export const THREADS_MAX = 16;
/** A page of events takes a fraction of it. */
const HEAP_MAX_MB = 128;

/** The cores that this process may use, bounded. */
export const coresForThreads = () => Math.min(availableParallelism(), THREADS_MAX);

/** Verifies parts of the log in threads while `use` runs. */
export async function withVerifiers<T>(
  place: DatabasePlace,
  threads: number,
  use: (verifiers: readonly PartVerifier[]) => Promise<T>,
): Promise<T> {
  const opened = Array.from({ length: threads }, () => openThread(place));
  try {
    return await use(opened.map(({ verify }) => verify));
  } finally {
    await Promise.all(opened.map(({ stop }) => stop()));
  }
}

/** A thread that ends answers null: the caller walks on by itself, and meets what ended it. */
function openThread(place: DatabasePlace): { verify: PartVerifier; stop: () => Promise<unknown> } {
  const worker = new Worker(WORKER, {
    workerData: place,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB },
  });
  const waiting: ((part: ChainPart | null) => void)[] = [];
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
    for (const resolve of waiting.splice(0)) resolve(null);
  };
  worker.on('message', (part: ChainPart | null) => waiting.shift()?.(part));
  worker.on('error', end).on('exit', end);
  return {
    verify: (order) =>
      new Promise((resolve) => {
        if (hasEnded) return resolve(null);
        waiting.push(resolve);
        worker.postMessage(order);
      }),
    stop: () => worker.terminate(),
  };
}
