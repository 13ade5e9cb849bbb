import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { createCallerReader } from './read-callers.ts';

describe.each(ENGINES)('the read of callers on $name', (engine) => {
  test('returns the present state of agent and family (R1, section 3)', async () => {
    const database = await engine.open();
    const key = await insertTestAgent(database, {
      n: 1,
      machineId: 'machine-1',
      digests: '{"apt":"aa","npm":"bb"}',
    });
    const read = createCallerReader(database);
    expect(await read(key)).toEqual({
      agentId: key.agentId,
      machineId: 'machine-1',
      agentStatus: 'active',
      familyActive: true,
      agentVersion: '1.0.0',
      bootId: null,
      keySetVersion: 0,
      pollingIntervalSeconds: null,
      hasOpenCommands: false,
      digests: '{"apt":"aa","npm":"bb"}',
    });
    await change(database, key);
    const now = await read(key);
    expect(now).toMatchObject({ agentStatus: 'revoked', familyActive: false, machineId: null });
  });

  test('a deleted agent, an unknown family and a family of another agent are null', async () => {
    const database = await engine.open();
    const deleted = await insertTestAgent(database, { n: 1, deletedAtMs: 5 });
    const one = await insertTestAgent(database, { n: 2 });
    const other = await insertTestAgent(database, { n: 3 });
    const read = createCallerReader(database);
    expect(await read(deleted)).toBeNull();
    expect(await read({ agentId: one.agentId, familyId: 'no-such-family' })).toBeNull();
    expect(await read({ agentId: one.agentId, familyId: other.familyId })).toBeNull();
  });

  test('open commands are those pending or sent', async () => {
    const database = await engine.open();
    const key = await insertTestAgent(database, { n: 1 });
    const read = createCallerReader(database);
    for (const [status, open] of [
      ['running', false],
      ['cancelled', false],
      ['sent', true],
    ] as const) {
      await insertCommand(database, { agentId: key.agentId, id: `c-${status}`, status });
      expect([status, (await read(key))?.hasOpenCommands]).toEqual([status, open]);
    }
  });

  test('1,000 requests of one moment cost five statements of at most 200 families, two at a time', async () => {
    const database = await engine.open();
    const keys = await Promise.all(Array.from({ length: 10 }, (_, n) => insertTestAgent(database, { n })));
    const counted = countReads(database);
    const read = createCallerReader(counted.database);
    const asked = Array.from({ length: 1_000 }, (_, i) => keys[i % keys.length]).filter(
      (k) => k !== undefined,
    );
    const rows = await Promise.all(asked.map((key) => read(key)));
    expect(rows.map((row) => row?.agentId)).toEqual(asked.map((key) => key.agentId));
    expect(counted.reads).toBe(5);
    expect(counted.mostAtOnce).toBeLessThanOrEqual(2);
  });

  test('requests that follow one another within milliseconds share a statement on PostgreSQL', async () => {
    const database = await engine.open();
    const key = await insertTestAgent(database, { n: 1 });
    const counted = countReads(database);
    const rest = Promise.withResolvers<void>();
    const read = createCallerReader(counted.database, () => rest.promise);
    await read(key);
    const later = [read(key)];
    await turn();
    later.push(read(key));
    await turn();
    const isShared = engine.name === 'postgres';
    expect(counted.reads).toBe(isShared ? 1 : 3);
    rest.resolve();
    expect((await Promise.all(later)).map((row) => row?.agentId)).toEqual([key.agentId, key.agentId]);
    expect(counted.reads).toBe(isShared ? 2 : 3);
  });

  test('a failed statement fails only its own requests', async () => {
    const database = await engine.open();
    const key = await insertTestAgent(database, { n: 1 });
    let broken = true;
    const read = createCallerReader({
      ...database,
      prepareRead: (sql) => {
        const real = database.prepareRead(sql);
        return async (parameters) => {
          if (broken) throw new Error('no connection');
          return real(parameters);
        };
      },
    });
    await expect(Promise.all([read(key), read(key)])).rejects.toThrow('no connection');
    broken = false;
    expect((await read(key))?.agentId).toBe(key.agentId);
  });
});

async function change(database: Database, key: { agentId: string; familyId: string }): Promise<void> {
  await database.transact(async (tx) => {
    await tx
      .updateTable('agents')
      .set({ status: 'revoked', machine_id: null })
      .where('id', '=', key.agentId)
      .execute();
    await tx
      .updateTable('refresh_families')
      .set({ status: 'revoked' })
      .where('id', '=', key.familyId)
      .execute();
  });
}

async function insertCommand(
  database: Database,
  { agentId, id, status }: { agentId: string; id: string; status: string },
): Promise<void> {
  const times = { created_at: 1, not_before: 1, expires_at: 2 };
  const row = { id, agent_id: agentId, action: 'scan', params: '{}', status, created_by: 'test', ...times };
  await writeRaw(database, 'agent_commands', row);
}

function countReads(database: Database) {
  const counted = { database, reads: 0, mostAtOnce: 0 };
  let atOnce = 0;
  counted.database = {
    ...database,
    prepareRead: (sql) => {
      const real = database.prepareRead(sql);
      return async (parameters) => {
        counted.reads++;
        counted.mostAtOnce = Math.max(counted.mostAtOnce, ++atOnce);
        try {
          return await real(parameters);
        } finally {
          atOnce--;
        }
      };
    },
  };
  return counted;
}
