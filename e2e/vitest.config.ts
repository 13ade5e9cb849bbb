import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { keepCompiledModules } from '../packages/testkit/src/compile-cache.ts';
import { closingLine } from '../scripts/closing-line-reporter.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
keepCompiledModules(repository);
const refuseSkips = process.env.TIDEGATE_REFUSE_SKIPS === '1';

/** Stories across the real parts. They start many processes, so one file runs at a time. */
export default defineConfig({
  root: repository,
  test: {
    pool: 'threads',
    include: ['e2e/**/*.test.ts'],
    fileParallelism: false,
    globalSetup: [
      'apps/server/src/testing/shared-databases.ts',
      'e2e/harness/build-agent-once.ts',
      'e2e/harness/build-console-once.ts',
    ],
    reporters: ['default', closingLine({ refuseSkips })],
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
