import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { MemoryAtRest } from './memory-on-signal.ts';

const LOOK_EVERY_MS = 50;

/** How a server is started that tells its memory after a full collection, and how to ask it; `folder` is for its answers. */
export function tellsMemory(folder: string) {
  const file = join(folder, 'memory.json');
  const preload = pathToFileURL(join(import.meta.dirname, 'memory-on-signal.ts')).href;
  return {
    nodeFlags: ['--expose-gc', '--import', preload],
    env: { TIDEGATE_BENCH_MEMORY: file },
    async atRest(pid: number): Promise<MemoryAtRest> {
      rmSync(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      while (!existsSync(file)) await pause(LOOK_EVERY_MS);
      return JSON.parse(readFileSync(file, 'utf8'));
    },
  };
}
