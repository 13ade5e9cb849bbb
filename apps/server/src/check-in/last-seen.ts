import type { Database, HotSql } from '../platform/db/engine.ts';
import type { Log } from '../platform/log.ts';

/** Rows that one statement writes: 10,000 at once would hold the only writer for 35 ms. */
const CHUNK_ROWS = 200;
/** Pause before each chunk, in milliseconds; other writers get their turn in between. */
const CHUNK_EVERY_MS = 10;

/** Buffer of when each agent was last heard of. */
export interface LastSeen {
  /** Remembers the time and writes it within moments. */
  note(agentId: string, nowMs: number): void;
  /** Writes what is left; nothing may be noted afterwards. Call it before the database is closed. */
  stop(): Promise<void>;
}

/**
 * Makes the buffer. A crash loses what was not written, which the next check-in repeats: nothing that has to be
 * durable goes through here. A chunk bears the time of its newest row.
 */
export function createLastSeen({ database, log }: { database: Database; log: Log }): LastSeen {
  const write = database.prepareWrite(WRITE_LAST_SEEN);
  const buffer = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> | null = null;

  function schedule(): void {
    timer = setTimeout(() => {
      timer = null;
      writing = writeChunk().finally(() => {
        writing = null;
        if (buffer.size > 0) schedule();
      });
    }, CHUNK_EVERY_MS);
  }

  async function writeChunk(): Promise<void> {
    const { agentIds, atMs } = takeChunk(buffer);
    try {
      await write([agentIds, atMs]);
    } catch (error) {
      // Dropped, not kept: the next check-in says it again, and a database that is away must not fill the memory.
      log.warn('last_seen not written', { rows: agentIds.length, cause: String(error) });
    }
  }

  return {
    note(agentId, nowMs) {
      buffer.set(agentId, nowMs);
      if (timer === null && writing === null) schedule();
    },
    async stop() {
      await writing;
      if (timer) clearTimeout(timer);
      while (buffer.size > 0) await writeChunk();
    },
  };
}

function takeChunk(buffer: Map<string, number>): { agentIds: string[]; atMs: number } {
  const agentIds: string[] = [];
  let atMs = 0;
  for (const [agentId, seenMs] of buffer) {
    agentIds.push(agentId);
    if (seenMs > atMs) atMs = seenMs;
    buffer.delete(agentId);
    if (agentIds.length === CHUNK_ROWS) break;
  }
  return { agentIds, atMs };
}

const WRITE_LAST_SEEN: HotSql = {
  name: 'write_last_seen',
  sqlite: 'UPDATE agents SET last_seen_at = ?2 WHERE id IN (SELECT value FROM json_each(?1))',
  postgres: 'UPDATE agents SET last_seen_at = $2 WHERE id = ANY($1::text[])',
};
