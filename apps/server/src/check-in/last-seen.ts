import { setTimeout as pause } from 'node:timers/promises';
import type { Database, HotSql } from '../platform/db/engine.ts';
import type { Log } from '../platform/log.ts';

/** Time in which check-ins are gathered before they are written, in milliseconds. */
const GATHER_MS = 5_000;
/** Rows that one statement writes: 10,000 at once would hold the only writer for 35 ms. */
const CHUNK_ROWS = 200;
/** Pause between two chunks, in milliseconds; other writers get their turn in between. */
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
 * durable goes through here. What was gathered is written in the order of the ids, which is the order of the rows:
 * neighbours share their pages. A chunk bears the time of its newest row.
 */
export function createLastSeen({
  database,
  log,
  gatherMs = GATHER_MS,
}: {
  database: Database;
  log: Log;
  gatherMs?: number;
}): LastSeen {
  const write = database.prepareWrite(WRITE_LAST_SEEN);
  let gathered = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> | null = null;
  let isStopped = false;

  async function flush(): Promise<void> {
    const seen = gathered;
    gathered = new Map();
    const agentIds = [...seen.keys()].sort();
    for (let i = 0; i < agentIds.length; i += CHUNK_ROWS) {
      if (i > 0 && !isStopped) await pause(CHUNK_EVERY_MS);
      await writeChunk(agentIds.slice(i, i + CHUNK_ROWS), seen);
    }
  }

  async function writeChunk(agentIds: string[], seen: ReadonlyMap<string, number>): Promise<void> {
    try {
      await write([agentIds, agentIds.reduce((newest, id) => Math.max(newest, seen.get(id) ?? 0), 0)]);
    } catch (error) {
      // Dropped, not kept: the next check-in says it again, and a database that is away must not fill the memory.
      log.warn('last_seen not written', { rows: agentIds.length, cause: String(error) });
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      timer = null;
      flushing = flush().finally(() => {
        flushing = null;
        if (gathered.size > 0 && !isStopped) schedule();
      });
    }, gatherMs);
  }

  return {
    note(agentId, nowMs) {
      gathered.set(agentId, nowMs);
      if (timer === null && flushing === null) schedule();
    },
    async stop() {
      isStopped = true;
      if (timer) clearTimeout(timer);
      await flushing;
      await flush();
    },
  };
}

const WRITE_LAST_SEEN: HotSql = {
  name: 'write_last_seen',
  sqlite: `INSERT INTO agent_presence (agent_id, last_seen_at) SELECT value, ?2 FROM json_each(?1) WHERE true
    ON CONFLICT (agent_id) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
  postgres: `INSERT INTO agent_presence (agent_id, last_seen_at) SELECT unnest($1::text[]), $2::bigint
    ON CONFLICT (agent_id) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
};
