import { startPostgres } from '@tidegate/testkit/postgres';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of an empty database of a running server, or why there is none. */
    postgres: { url: string } | { missing: string };
  }
}

/** Vitest global set-up: one throw-away PostgreSQL for all test files. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({ settings: { max_connections: 300 } });
  if ('missing' in server) {
    process.stderr.write(
      `PostgreSQL tests are skipped: ${server.missing} (Debian: apt install postgresql)\n`,
    );
    project.provide('postgres', { missing: server.missing });
    return async () => {};
  }
  project.provide('postgres', { url: server.url('postgres') });
  return () => server.stop();
}
