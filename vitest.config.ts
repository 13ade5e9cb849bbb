import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { keepCompiledModules } from './packages/testkit/src/compile-cache.ts';
import { closingLine } from './scripts/closing-line-reporter.ts';

keepCompiledModules(import.meta.dirname);
const refuseSkips = process.env.TIDEGATE_REFUSE_SKIPS === '1';
const isLong = process.env.TIDEGATE_LONG === '1';

const each = {
  root: import.meta.dirname,
  // Node starts a program with fork(2), whose time grows with the memory of the process: of a gigabyte it took 150 ms,
  // in which no other thread of the process went on.
  pool: 'forks',
  // Modules are loaded once for each process, not for each file: a test leaves nothing behind, and the long lane runs
  // the files in another order to find one that does.
  isolate: false,
  setupFiles: 'packages/testkit/src/seed-properties.ts',
  // More than cores: tests wait for PostgreSQL, package managers and other processes.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // What a test awaits comes when it comes: these end one that waits for nothing, and no test has a shorter limit.
  expect: { poll: { timeout: 60_000 } },
  hookTimeout: 300_000,
  testTimeout: isLong ? 1_800_000 : 300_000,
} as const;

const SERVER = 'apps/server/src/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['apps/server/src/testing/shared-databases.ts'],
    reporters: ['default', closingLine({ refuseSkips })],
    projects: [
      {
        test: {
          ...each,
          // First, and in processes without the modules of the server: these start most of the programs.
          name: 'others',
          include: [
            ...['apps/*/src/**/*.test.ts', 'packages/*/src/**/*.test.ts'],
            ...['scripts/**/*.test.ts', 'bench/**/*.test.ts'],
          ],
          exclude: [SERVER],
        },
      },
      {
        test: {
          ...each,
          name: 'server',
          include: [SERVER],
          // Files of two projects in a random order would share no modules.
          sequence: { groupOrder: isLong ? 1 : 0 },
        },
      },
    ],
  },
});
