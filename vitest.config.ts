import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { keepCompiledModules } from './packages/testkit/src/compile-cache.ts';
import { closingLine } from './scripts/closing-line-reporter.ts';

keepCompiledModules(import.meta.dirname);
const refuseSkips = process.env.TIDEGATE_REFUSE_SKIPS === '1';

export default defineConfig({
  test: {
    pool: 'threads',
    // Modules are loaded once for each thread, not for each file: a test leaves nothing behind, and the long lane runs
    // the files in another order to find one that does.
    isolate: false,
    // More than cores: tests wait for PostgreSQL, package managers and other processes.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    include: [
      ...['apps/*/src/**/*.test.ts', 'packages/*/src/**/*.test.ts'],
      ...['scripts/**/*.test.ts', 'bench/**/*.test.ts'],
    ],
    globalSetup: ['apps/server/src/testing/shared-databases.ts'],
    reporters: ['default', closingLine({ refuseSkips })],
    // What a test awaits comes when it comes: these end one that waits for nothing, and no test has a shorter limit.
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 300_000,
    testTimeout: process.env.TIDEGATE_LONG === '1' ? 1_800_000 : 300_000,
  },
});
