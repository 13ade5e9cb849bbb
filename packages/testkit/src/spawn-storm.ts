import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Threads that start programs; more of them than cores leave children waiting between fork and exec. */
const SPAWNERS = 3;
/** Places in the memory that the threads share. */
const PROGRAMS = 0;
const STOPPED = 1;

export interface SpawnStorm {
  /** How many programs have run to their end since the start. */
  programs(): number;
  stop(): Promise<void>;
}

/**
 * Starts one program after the other in threads of this process, until stopped. Each child has a copy of every open
 * descriptor between fork and exec. The returned promise waits for the first program of each thread. POSIX only.
 */
export async function startSpawnStorm(): Promise<SpawnStorm> {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const options = { workerData: { spawnStorm: shared } };
  const spawners = Array.from(
    { length: SPAWNERS },
    () => new Worker(fileURLToPath(import.meta.url), options),
  );
  const ends = spawners.map((spawner) => once(spawner, 'exit'));
  await Promise.all(spawners.map((spawner) => once(spawner, 'message')));
  return {
    programs: () => Atomics.load(shared, PROGRAMS),
    stop: async () => {
      Atomics.store(shared, STOPPED, 1);
      await Promise.all(ends);
    },
  };
}

function spawnUntilStopped(shared: Int32Array): void {
  spawnSync('true');
  parentPort?.postMessage('started');
  while (Atomics.load(shared, STOPPED) === 0) {
    spawnSync('true');
    Atomics.add(shared, PROGRAMS, 1);
  }
}

if (!isMainThread && workerData?.spawnStorm instanceof Int32Array) spawnUntilStopped(workerData.spawnStorm);
