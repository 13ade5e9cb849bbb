import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** What a server with this preloaded writes to the file of TIDEGATE_BENCH_MEMORY at each SIGUSR2, after a full collection. */
export interface MemoryAtRest {
  rss: number;
  heapUsed: number;
  external: number;
}

const file = process.env.TIDEGATE_BENCH_MEMORY;
if (isMainThread && file !== undefined) {
  process.on('SIGUSR2', () => {
    globalThis.gc?.();
    writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
    renameSync(`${file}.new`, file);
  });
}
