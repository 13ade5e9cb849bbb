import { join } from 'node:path';
import { BUILT_SERVER, buildServer } from '../scripts/release/build-server.ts';

/** The server to measure: as a release has it, built if it is stale. A profile names the sources, so it is of them. */
export async function serverProgram(): Promise<string> {
  if (process.env.TIDEGATE_BENCH_PROFILE !== undefined)
    return join(import.meta.dirname, '../apps/server/src/main.ts');
  await buildServer();
  return join(BUILT_SERVER, 'server/main.js');
}
