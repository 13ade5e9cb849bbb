import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends a run with one plain line (`N passed, N failed, N skipped`). With `refuseSkips` a run with a skipped test fails:
 * CI installs everything that the tests need, so nothing may be skipped there.
 */
export function closingLine({ refuseSkips }: { refuseSkips: boolean }): Reporter {
  return {
    onTestRunEnd(modules: readonly TestModule[]) {
      const counts = { passed: 0, failed: 0, skipped: 0 };
      for (const module of modules) {
        if (module.errors().length > 0) counts.failed++;
        for (const test of module.children.allTests()) {
          const { state } = test.result();
          if (state === 'pending') continue;
          counts[state]++;
          if (state === 'skipped' && refuseSkips) process.stdout.write(`skipped: ${test.fullName}\n`);
        }
      }
      if (refuseSkips && counts.skipped > 0) {
        process.stdout.write('Skipped tests count as failures here.\n');
        process.exitCode = 1;
      }
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
    },
  };
}
