import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/engine.ts';
import { ping } from '../platform/db/ping.ts';

const PROBE_TIMEOUT_MS = 1_000;
/** Health is asked without a limit: an answer this young is given again. */
const PROBE_REUSE_MS = 1_000;

/** Whether the database answers within a second; one question at a time, however many ask. */
export function createDatabaseProbe({
  database,
  now,
  timeoutMs = PROBE_TIMEOUT_MS,
}: {
  database: Pick<Database, 'read'>;
  now: Clock;
  timeoutMs?: number;
}): () => Promise<'ok' | 'down'> {
  let last: { atMs: number; answer: Promise<'ok' | 'down'> } | null = null;
  return () => {
    const atMs = now();
    if (!last || atMs - last.atMs >= PROBE_REUSE_MS || atMs < last.atMs) {
      last = { atMs, answer: probe(database, timeoutMs) };
    }
    return last.answer;
  };
}

async function probe(database: Pick<Database, 'read'>, timeoutMs: number): Promise<'ok' | 'down'> {
  const { promise: late, resolve } = Promise.withResolvers<'down'>();
  const timer = setTimeout(() => resolve('down'), timeoutMs);
  // Whatever a database throws, it is not to be used.
  const answer = ping(database.read).then(
    () => 'ok' as const,
    () => 'down' as const,
  );
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}
