import { defineConfig } from 'vitest/config';
import { closingLine } from './scripts/closing-line-reporter.ts';

const refuseSkips = process.env.TIDEGATE_REFUSE_SKIPS === '1';

export default defineConfig({
  test: {
    pool: 'threads',
    include: ['apps/*/src/**/*.test.ts', 'packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts'],
    globalSetup: ['apps/server/src/testing/shared-databases.ts'],
    reporters: ['default', closingLine({ refuseSkips })],
    testTimeout: process.env.TIDEGATE_LONG === '1' ? 1_800_000 : 20_000,
  },
});
