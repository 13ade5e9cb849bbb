import { createClock } from '@tidegate/testkit/clock';
import { describe, expect, test } from 'vitest';
import { takeClientSlot, takeSlot } from '../reboot-slots/take-slot.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createRebootScene, type SceneHost } from '../testing/reboot-scene.ts';

/** Transactions that PostgreSQL has open at once in tests; SQLite has one. */
const TOGETHER = 8;

/** Holds every transaction until so many have begun, so that none is over before the others count. */
function meeting(size: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let come = 0;
  return () => {
    if (++come >= size) all.resolve();
    return all.promise;
  };
}

describe.each(ENGINES)('two servers at once on $name', (engine) => {
  test('hosts that fetch their commands at once never take more slots than their group has', async () => {
    const database = await engine.open();
    const nowMs = createClock(Date.UTC(2026, 10, 21, 9)).now();
    let ids = 0;
    const platform = { now: () => nowMs, newId: () => `slot-${++ids}` };
    const agents = [];
    for (let n = 1; n <= TOGETHER; n++) agents.push(await insertTestAgent(database, { n, group: 'web' }));
    await database.transact((tx) =>
      tx
        .insertInto('reboot_groups')
        .values({ group_name: 'web', max_at_once: 3, min_healthy: 0, halt_after: 2 })
        .execute(),
    );
    const meet = meeting(engine.name === 'postgres' ? TOGETHER : 1);
    const took = await Promise.all(
      agents.map(({ agentId }) =>
        database.transact(async (tx) => {
          await meet();
          return takeSlot(tx, platform, {
            ...{ agentId, commandId: `command-${agentId}`, bootId: 'boot-1', expiresAtMs: nowMs + 1 },
          });
        }),
      ),
    );
    expect(took.filter((verdict) => verdict === 'free')).toHaveLength(3);
    expect(took.filter((verdict) => verdict === 'none_free')).toHaveLength(TOGETHER - 3);
    const open = await database.read.selectFrom('reboot_slots').selectAll().execute();
    expect(open).toHaveLength(3);
  });

  test('also in a group for which nobody has set limits, whose row does not exist yet', async () => {
    const database = await engine.open();
    let ids = 0;
    const platform = { now: () => 1_000, newId: () => `slot-${++ids}` };
    const agents = [];
    for (let n = 1; n <= TOGETHER; n++) agents.push(await insertTestAgent(database, { n }));
    const meet = meeting(engine.name === 'postgres' ? TOGETHER : 1);
    const took = await Promise.all(
      agents.map(({ agentId }) =>
        database.transact(async (tx) => {
          await meet();
          return takeSlot(tx, platform, {
            agentId,
            commandId: agentId,
            bootId: 'boot-1',
            expiresAtMs: 2_000,
          });
        }),
      ),
    );
    expect(took.filter((verdict) => verdict === 'free')).toHaveLength(1);
  });

  test('FleetLock clients and hosts of one group together never take more slots than it has', async () => {
    const database = await engine.open();
    let ids = 0;
    const platform = { now: () => 1_000, newId: () => `slot-${++ids}` };
    const agents = [];
    for (let n = 1; n <= TOGETHER / 2; n++) agents.push(await insertTestAgent(database, { n, group: 'web' }));
    const meet = meeting(engine.name === 'postgres' ? TOGETHER : 1);
    const took = await Promise.all(
      agents.flatMap(({ agentId }, n) => [
        database.transact(async (tx) => {
          await meet();
          const of = { agentId, commandId: agentId, bootId: 'boot-1', expiresAtMs: 2_000 };
          return takeSlot(tx, platform, of);
        }),
        database.transact(async (tx) => {
          await meet();
          return takeClientSlot(tx, platform, { group: 'web', clientId: `core-${n}` });
        }),
      ]),
    );
    expect(took.filter((verdict) => verdict === 'free')).toHaveLength(1);
    expect(took.filter((verdict) => verdict === 'none_free')).toHaveLength(TOGETHER - 1);
  });

  test('a client that asks two servers at once has one slot', async () => {
    const database = await engine.open();
    await database.transact((tx) =>
      tx
        .insertInto('reboot_groups')
        .values({ group_name: 'web', max_at_once: TOGETHER, min_healthy: 0, halt_after: 2 })
        .execute(),
    );
    let ids = 0;
    const platform = { now: () => 1_000, newId: () => `slot-${++ids}` };
    const meet = meeting(engine.name === 'postgres' ? TOGETHER : 1);
    const took = await Promise.all(
      Array.from({ length: TOGETHER }, () =>
        database.transact(async (tx) => {
          await meet();
          return takeClientSlot(tx, platform, { group: 'web', clientId: 'core-1' });
        }),
      ),
    );
    expect(took.toSorted()).toEqual(['free', ...Array.from({ length: TOGETHER - 1 }, () => 'held')]);
    expect(await database.read.selectFrom('reboot_slots').select('client_id').execute()).toEqual([
      { client_id: 'core-1' },
    ]);
  });

  test('both offer, and each host is given one command', async () => {
    const it = await createRebootScene(engine);
    const hosts: SceneHost[] = [];
    for (let n = 1; n <= 5; n++) hosts.push(await it.host(n));
    await it.call('PUT', '/api/v1/reboot-slots', {
      ...{ group: 'web', max_at_once: 5, min_healthy: 0, halt_after: 1 },
    });
    await it.ask();
    await Promise.all([1, 2, 3].map(() => it.turn()));
    const commands = await it.database.read.selectFrom('agent_commands').select('agent_id').execute();
    expect(commands).toHaveLength(5);
    expect(new Set(commands.map(({ agent_id }) => agent_id)).size).toBe(5);
  });
});
