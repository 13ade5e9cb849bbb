import { setTimeout as pause } from 'node:timers/promises';
import { HEARTBEAT_SLOTS } from '@tidegate/protocol/overview-api';
import { slotOf } from '../agents/heartbeat-rules.ts';
import { CHECK_IN_INTERVAL_SECONDS, ONLINE_INTERVALS } from '../agents/presence.ts';
import type { Database, HotSql } from '../platform/db/engine.ts';
import type { Log } from '../platform/log.ts';

/** Time for which check-ins are batched before they are written, in milliseconds. */
const GATHER_MS = 5_000;
/** Rows per statement, and so per commit: a thousand hold the only writer for a millisecond. */
const CHUNK_ROWS = 1_000;
/** Pause between two chunks, in milliseconds, in which other writers run. */
const CHUNK_EVERY_MS = 10;

/** Write buffer of each agent's last check-in time. */
export interface LastSeen {
  /** Records the time and writes it within moments; a gap of several intervals marks the beat as late. */
  record(agentId: string, nowMs: number, intervalSeconds?: number): void;
  /** Writes the rest; call nothing afterwards. Call it before the database is closed. */
  stop(): Promise<void>;
}

/**
 * Creates the buffer. A crash loses unwritten times, which the next check-in repeats: nothing durable goes
 * through here. Batches are written in the order of ids, which is the order of the rows, so that neighbours
 * share pages. A batch has the time of its latest check-in: a set of ids costs less than a time for each.
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
  let gathered = new Set<string>();
  let latestMs = 0;
  /** Intervals that differ from the default, which few hosts have. */
  let unusual = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> | null = null;
  let isStopped = false;

  async function flush(): Promise<void> {
    const agentIds = [...gathered].sort();
    const [seenMs, intervals] = [latestMs, unusual];
    gathered = new Set();
    unusual = new Map();
    const byInterval = Map.groupBy(agentIds, (id) => intervals.get(id) ?? CHECK_IN_INTERVAL_SECONDS);
    let isFirst = true;
    for (const [intervalSeconds, ids] of byInterval) {
      for (let i = 0; i < ids.length; i += CHUNK_ROWS) {
        if (!isFirst && !isStopped) await pause(CHUNK_EVERY_MS);
        isFirst = false;
        await writeChunk(ids.slice(i, i + CHUNK_ROWS), { seenMs, intervalSeconds });
      }
    }
  }

  async function writeChunk(
    agentIds: string[],
    { seenMs, intervalSeconds }: { seenMs: number; intervalSeconds: number },
  ): Promise<void> {
    try {
      await write([agentIds, seenMs, slotOf(seenMs), ONLINE_INTERVALS * intervalSeconds * 1_000]);
    } catch (error) {
      // Dropped: the next check-in repeats it, and an unavailable database must not fill the memory.
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
    record(agentId, nowMs, intervalSeconds = CHECK_IN_INTERVAL_SECONDS) {
      gathered.add(agentId);
      latestMs = nowMs;
      if (intervalSeconds !== CHECK_IN_INTERVAL_SECONDS) unusual.set(agentId, intervalSeconds);
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

/** A row after a check-in: the slots shift with time, and the newest one is marked. */
function beatSql({ seen, slot, lateMs }: { seen: string; slot: string; lateMs: string }): string {
  const moved = (bits: string, newest: string) => `CASE
      WHEN agent_presence.beat_slot = ${slot} THEN agent_presence.${bits} | ${newest}
      WHEN agent_presence.beat_slot > ${slot} THEN agent_presence.${bits}
      WHEN ${slot} - agent_presence.beat_slot < ${HEARTBEAT_SLOTS} THEN ((agent_presence.${bits} <<
        CAST(${slot} - agent_presence.beat_slot AS INTEGER)) & ${2 ** HEARTBEAT_SLOTS - 1}) | ${newest}
      ELSE ${newest} END`;
  const isLate = `CASE WHEN ${seen} - agent_presence.last_seen_at > ${lateMs} THEN 1 ELSE 0 END`;
  return `ON CONFLICT (agent_id) DO UPDATE SET last_seen_at = excluded.last_seen_at,
    beats = ${moved('beats', '1')},
    late_beats = ${moved('late_beats', isLate)},
    beat_slot = CASE WHEN agent_presence.beat_slot > ${slot} THEN agent_presence.beat_slot ELSE ${slot} END`;
}

const WRITE_LAST_SEEN: HotSql = {
  name: 'write_last_seen',
  sqlite: `INSERT INTO agent_presence (agent_id, last_seen_at, beat_slot, beats, late_beats)
    SELECT value, ?2, ?3, 1, 0 FROM json_each(?1) WHERE true
    ${beatSql({ seen: '?2', slot: '?3', lateMs: '?4' })}`,
  postgres: `INSERT INTO agent_presence (agent_id, last_seen_at, beat_slot, beats, late_beats)
    SELECT unnest($1::text[]), $2::bigint, $3::bigint, 1, 0
    ${beatSql({ seen: '$2::bigint', slot: '$3::bigint', lateMs: '$4::bigint' })}`,
};
