import { describe, expect, test } from 'vitest';
import { SLOT_MS } from '../agents/heartbeat-rules.ts';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createLastSeen } from './last-seen.ts';

describe.each(ENGINES)('the buffer of last_seen on $name', (engine) => {
  test('2,050 agents are written in chunks of at most 1,000 rows, each agent once, with the latest time', async () => {
    const database = await engine.open();
    const ids = await insertAgents(database, 2_050);
    const counted = countWrites(database);
    const lastSeen = createLastSeen({ ...createTestPlatform(counted.database), gatherMs: 20 });
    for (const [n, id] of [...ids, ...ids].entries()) lastSeen.record(id, n);
    await expect.poll(() => counted.rows).toEqual([1_000, 1_000, 50]);
    await lastSeen.stop();
    const seen = await database.read.selectFrom('agent_presence').select('last_seen_at').execute();
    expect(new Set(seen.map((row) => row.last_seen_at))).toEqual(new Set([4_099]));
  });

  test('stopping writes the rest', async () => {
    const database = await engine.open();
    const ids = await insertAgents(database, 3);
    const lastSeen = createLastSeen(createTestPlatform(database));
    for (const id of ids) lastSeen.record(id, 7);
    await lastSeen.stop();
    const seen = await database.read.selectFrom('agent_presence').select('last_seen_at').execute();
    expect(seen).toEqual([{ last_seen_at: 7 }, { last_seen_at: 7 }, { last_seen_at: 7 }]);
  });

  test('a failed write is logged and dropped, and the next one runs', async () => {
    const database = await engine.open();
    const [id = ''] = await insertAgents(database, 1);
    let broken = true;
    const platform = createTestPlatform({
      ...database,
      prepareWrite: (sql) => {
        const write = database.prepareWrite(sql);
        return async (parameters) => {
          if (broken) throw new Error('disk full');
          await write(parameters);
        };
      },
    });
    const lastSeen = createLastSeen({ ...platform, gatherMs: 20 });
    lastSeen.record(id, 5);
    await expect.poll(() => platform.lines.join()).toContain('last_seen not written');
    broken = false;
    lastSeen.record(id, 6);
    await lastSeen.stop();
    const row = await database.read.selectFrom('agent_presence').select('last_seen_at').executeTakeFirst();
    expect(row).toEqual({ last_seen_at: 6 });
  });

  test('marks each half hour with a check-in, and those in which a silence ended', async () => {
    const database = await engine.open();
    const [host = '', rare = '', fresh = ''] = await insertAgents(database, 3);
    const slot = 1_000_000;
    const at = (slots: number, ms = 0) => (slot + slots) * SLOT_MS + ms;
    const heard: [id: string, ms: number, intervalSeconds?: number][] = [
      [host, at(0)],
      [host, at(0, 180_000)],
      [host, at(0, 400_000)], // more than three minutes later
      [rare, at(0), 3_600],
      [host, at(2)],
      [rare, at(2), 3_600],
      [host, at(1)], // of a replica whose clock is behind
      [fresh, at(3)],
      [host, at(47)],
      [rare, at(70), 3_600],
    ];
    for (const [id, ms, intervalSeconds] of heard) {
      const lastSeen = createLastSeen(createTestPlatform(database));
      lastSeen.record(id, ms, intervalSeconds);
      await lastSeen.stop();
    }
    const rows = await database.read
      .selectFrom('agent_presence')
      .select(['agent_id', 'beat_slot', 'beats', 'late_beats'])
      .orderBy('agent_id')
      .execute();
    expect(rows).toEqual([
      {
        agent_id: host,
        beat_slot: slot + 47,
        beats: 2 ** 47 + 2 ** 45 + 1,
        late_beats: 2 ** 47 + 2 ** 45 + 1,
      },
      { agent_id: rare, beat_slot: slot + 70, beats: 1, late_beats: 1 },
      { agent_id: fresh, beat_slot: slot + 3, beats: 1, late_beats: 0 },
    ]);
  });
});

async function insertAgents(database: Database, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, n) => insertTestAgent(database, { n }));
  return (await Promise.all(keys)).map((key) => key.agentId);
}

function countWrites(database: Database) {
  const counted: { database: Database; rows: number[] } = { database, rows: [] };
  counted.database = {
    ...database,
    prepareWrite: (sql) => {
      const write = database.prepareWrite(sql);
      return async (parameters) => {
        const [ids] = parameters;
        counted.rows.push(Array.isArray(ids) ? ids.length : -1);
        await write(parameters);
      };
    },
  };
  return counted;
}
