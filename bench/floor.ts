import { join } from 'node:path';
import { runLoad } from './load.ts';
import { cpuOf, pinLoad, startServerProcess } from './processes.ts';
import type { BenchOptions } from './run.ts';

export const HELLO = Buffer.from('GET / HTTP/1.1\r\nhost: bench\r\n\r\n');
export const CONNECTIONS = 64;

/** The bare node:http server that runs beside what is measured: what an answer of it costs at this moment. */
export interface Floor {
  /** Microseconds of CPU for each answer, in a round of so many seconds at saturation. */
  costUs(seconds: number): Promise<number>;
}

/** Starts the bare server for some work, and keeps the load off the core of the servers. */
export async function withFloor<T>(
  { say }: Pick<BenchOptions, 'say'>,
  work: (floor: Floor) => Promise<T>,
): Promise<T> {
  if (!pinLoad())
    say('one core, or no taskset: server and load share the core, so the figures are not reliable');
  const hello = await startServerProcess(join(import.meta.dirname, 'hello.ts'));
  const run = (seconds: number) =>
    runLoad({ url: hello.url, connections: CONNECTIONS, seconds, requests: [HELLO] });
  try {
    await run(1);
    return await work({
      async costUs(seconds) {
        const before = cpuOf(hello.pid);
        const { requests } = await run(seconds);
        return (cpuOf(hello.pid) - before) / requests;
      },
    });
  } finally {
    await hello.stop();
  }
}
