import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/engine.ts';
import { pingWrite } from '../platform/db/ping.ts';
import { newestMigration } from '../platform/db/schema-version.ts';

const PROBE_TIMEOUT_MS = 1_000;
/** Health has no rate limit: a result younger than this is reused. */
const PROBE_REUSE_MS = 1_000;

/** `newer`: it answers, and a newer release has upgraded it. */
export type DatabaseState = 'ok' | 'newer' | 'down';

type Probed = Pick<Database, 'read' | 'transact' | 'writeFaults'>;

/**
 * Checks that the database answers within a second; concurrent callers share one check. Reads may still work
 * while the disk is full or read-only: after a failed write, one must succeed before the answer is `ok`.
 */
export function createDatabaseProbe({
  database,
  schemaVersion,
  now,
  timeoutMs = PROBE_TIMEOUT_MS,
}: {
  database: Probed;
  /** That this program made or found at its start. */
  schemaVersion: number;
  now: Clock;
  timeoutMs?: number;
}): () => Promise<DatabaseState> {
  let faultsPast = database.writeFaults();
  let last: { atMs: number; answer: Promise<DatabaseState> } | null = null;

  async function question(): Promise<DatabaseState> {
    const state = ((await newestMigration(database.read)) ?? 0) > schemaVersion ? 'newer' : 'ok';
    const faults = database.writeFaults();
    if (faults === faultsPast) return state;
    await pingWrite(database);
    faultsPast = faults;
    return state;
  }

  return () => {
    const atMs = now();
    if (!last || atMs - last.atMs >= PROBE_REUSE_MS || atMs < last.atMs) {
      last = { atMs, answer: probe(question, timeoutMs) };
    }
    return last.answer;
  };
}

async function probe(question: () => Promise<DatabaseState>, timeoutMs: number): Promise<DatabaseState> {
  const { promise: late, resolve } = Promise.withResolvers<'down'>();
  const timer = setTimeout(() => resolve('down'), timeoutMs);
  // Any error means that the database is unusable.
  const answer = question().catch(() => 'down' as const);
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}
