import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/engine.ts';
import { ping, pingWrite } from '../platform/db/ping.ts';

const PROBE_TIMEOUT_MS = 1_000;
/** Health has no rate limit: a result younger than this is reused. */
const PROBE_REUSE_MS = 1_000;

type Probed = Pick<Database, 'read' | 'transact' | 'writeFaults'>;

/**
 * Checks that the database answers within a second; concurrent callers share one check. Reads may still work
 * while the disk is full or read-only: after a failed write, one must succeed before the answer is `ok`.
 */
export function createDatabaseProbe({
  database,
  now,
  timeoutMs = PROBE_TIMEOUT_MS,
}: {
  database: Probed;
  now: Clock;
  timeoutMs?: number;
}): () => Promise<'ok' | 'down'> {
  let faultsPast = database.writeFaults();
  let last: { atMs: number; answer: Promise<'ok' | 'down'> } | null = null;

  async function question(): Promise<void> {
    await ping(database.read);
    const faults = database.writeFaults();
    if (faults === faultsPast) return;
    await pingWrite(database);
    faultsPast = faults;
  }

  return () => {
    const atMs = now();
    if (!last || atMs - last.atMs >= PROBE_REUSE_MS || atMs < last.atMs) {
      last = { atMs, answer: probe(question, timeoutMs) };
    }
    return last.answer;
  };
}

async function probe(question: () => Promise<void>, timeoutMs: number): Promise<'ok' | 'down'> {
  const { promise: late, resolve } = Promise.withResolvers<'down'>();
  const timer = setTimeout(() => resolve('down'), timeoutMs);
  // Any error means that the database is unusable.
  const answer = question().then(
    () => 'ok' as const,
    () => 'down' as const,
  );
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}
