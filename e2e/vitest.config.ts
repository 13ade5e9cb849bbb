import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { keepCompiledModules } from '../packages/testkit/src/compile-cache.ts';
import { closingLine } from '../scripts/closing-line-reporter.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
keepCompiledModules(repository);
const isLong = process.env.TIDEGATE_LONG === '1';
const refuseSkips = process.env.TIDEGATE_REFUSE_SKIPS === '1';

/** Stories that hold a time against a goal: they have the machine for themselves. */
const TIMED = ['e2e/console/budget.test.ts', 'e2e/keys.test.ts'];
/** Of these the long lane alone: what a person does in 5,000 hosts takes twice as long on a machine that is busy otherwise. */
const TIMED_LONG = ['e2e/console/speed.test.ts'];

/**
 * For the long lane alone: what the public registries and Debian's archive offer changes from day to day, and the base of the
 * image is pinned; fifty restarts, two whole releases, three of the agent, ten thousand cases, the
 * compilation of Helm or every page of the console take minutes.
 */
const LONG = isLong
  ? []
  : [
      'e2e/agent-upgrade.test.ts',
      'e2e/ansible.test.ts',
      'e2e/container.test.ts',
      'e2e/deployment-files.test.ts',
      'e2e/gallery.test.ts',
      'e2e/last-release.test.ts',
      'e2e/one-line.test.ts',
      'e2e/openapi.test.ts',
      'e2e/package-upgrade.test.ts',
      'e2e/pgbouncer.test.ts',
      'e2e/podman.test.ts',
      'e2e/real-registries.test.ts',
      'e2e/release.test.ts',
      'e2e/replicas.test.ts',
      'e2e/rollout-kill.test.ts',
      'e2e/siem.test.ts',
    ];

const each = {
  root: repository,
  // A process for each file: some stories kill what their process has started.
  pool: 'forks',
  // These end a story that waits for nothing; no story has a shorter limit, unless it proves a time.
  expect: { poll: { timeout: 90_000 } },
  testTimeout: 300_000,
  hookTimeout: 300_000,
} as const;

/** Stories across the real parts. They start many processes and wait for them, each in folders and on ports of its own. */
export default defineConfig({
  root: repository,
  test: {
    globalSetup: [
      'apps/server/src/testing/shared-databases.ts',
      'e2e/harness/build-agent-once.ts',
      'e2e/harness/build-console-once.ts',
      'e2e/harness/build-server-once.ts',
    ],
    reporters: ['default', closingLine({ refuseSkips })],
    projects: [
      {
        root: repository,
        test: {
          ...each,
          name: 'stories',
          include: ['e2e/**/*.test.ts'],
          exclude: [...TIMED, ...TIMED_LONG, ...LONG],
          // Half of the time of a story is waiting.
          maxWorkers: availableParallelism() * 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        root: repository,
        test: {
          ...each,
          name: 'timed',
          include: isLong ? [...TIMED, ...TIMED_LONG] : TIMED,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
