import { writeFileSync } from 'node:fs';

/** What a server with this preloaded writes to the file of TIDEGATE_BENCH_MEMORY at each SIGUSR2, after a full collection. */
export interface MemoryAtRest {
  rss: number;
  heapUsed: number;
  external: number;
}

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  writeFileSync(process.env.TIDEGATE_BENCH_MEMORY ?? '', JSON.stringify(process.memoryUsage()));
});
