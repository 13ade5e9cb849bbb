import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { CHUNK, createSilenceLooks, reportSilentAgents } from './watch-offline.ts';

const MINUTE = 60_000;

async function setUp(engine: TestEngine) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const bootedAt = platform.now() - 60 * MINUTE;
  const agents = [];
  for (const n of [1, 2, 3]) agents.push((await insertTestAgent(database, { n })).agentId);
  const [first = '', second = '', third = ''] = agents;
  const seen = (agentId: string, atMs: number) =>
    database.transact((tx) =>
      tx
        .insertInto('agent_presence')
        .values({ agent_id: agentId, last_seen_at: atMs })
        .onConflict((conflict) => conflict.column('agent_id').doUpdateSet({ last_seen_at: atMs }))
        .execute(),
    );
  const report = (booted = bootedAt) =>
    reportSilentAgents(platform, { listeningSince: booted, isStopped: () => false });
  const events = () =>
    database.read
      .selectFrom('events')
      .select(['kind', 'type', 'severity', 'component', 'agent_id', 'actor', 'content'])
      .where('type', '=', 'agent_offline')
      .orderBy('position')
      .execute();
  let isFailing = false;
  const failing = {
    ...platform,
    database: {
      ...database,
      get read() {
        if (isFailing) throw new Error('no database');
        return database.read;
      },
    },
  };
  const fail = (isNow: boolean) => {
    isFailing = isNow;
  };
  return { database, platform, failing, fail, first, second, third, seen, report, events };
}

describe.each(ENGINES)('hosts that go silent on $name', (engine) => {
  test('a host silent for three intervals leaves one event, and another after it came back', async () => {
    const { platform, first, second, seen, report, events } = await setUp(engine);
    const startMs = platform.now();
    await seen(first, startMs);
    await seen(second, startMs);
    platform.clock.advance(3 * MINUTE - 1);
    expect(await report()).toBe(0);
    await seen(second, platform.now());
    platform.clock.advance(1);
    expect(await report()).toBe(1);
    expect(await report()).toBe(0);
    expect(await events()).toEqual([
      {
        kind: 'system',
        type: 'agent_offline',
        severity: 'warning',
        component: 'agents',
        agent_id: first,
        actor: 'server',
        content: JSON.stringify({ hostname: 'host-1', last_seen_at: new Date(startMs).toISOString() }),
      },
    ]);
    await seen(first, platform.now());
    await seen(second, platform.now());
    expect(await report()).toBe(0);
    platform.clock.advance(3 * MINUTE);
    expect(await report()).toBe(2);
  });

  test('each host is judged by its own interval; deleted, revoked and never seen hosts are skipped', async () => {
    const { database, platform, first, second, third, seen, report, events } = await setUp(engine);
    for (const agentId of [first, second, third]) await seen(agentId, platform.now());
    await insertTestAgent(database, { n: 4 });
    const set = (agentId: string, values: object) =>
      database.transact((tx) => tx.updateTable('agents').set(values).where('id', '=', agentId).execute());
    await set(first, { polling_interval_seconds: 600 });
    await set(second, { status: 'revoked' });
    await set(third, { deleted_at: 1 });
    platform.clock.advance(30 * MINUTE - 1);
    expect(await report()).toBe(0);
    platform.clock.advance(1);
    expect(await report()).toBe(1);
    expect((await events()).map((event) => event.agent_id)).toEqual([first]);
  });

  test('a server that was down itself waits as long before it calls hosts silent', async () => {
    const { platform, first, seen, report } = await setUp(engine);
    await seen(first, platform.now());
    platform.clock.advance(60 * MINUTE);
    const booted = platform.now();
    expect(await report(booted)).toBe(0);
    platform.clock.advance(3 * MINUTE - 1);
    expect(await report(booted)).toBe(0);
    platform.clock.advance(1);
    expect(await report(booted)).toBe(1);
  });

  test.each<[string, (it: Awaited<ReturnType<typeof setUp>>, look: () => Promise<number>) => Promise<void>]>([
    ['slept', async ({ platform }) => platform.clock.advance(60 * MINUTE)],
    [
      'had no database',
      async ({ platform, fail }, look) => {
        fail(true);
        for (let i = 0; i < 120; i += 1) {
          platform.clock.advance(MINUTE / 2);
          await expect(look()).rejects.toThrow('no database');
        }
        fail(false);
      },
    ],
  ])('a server that %s waits until all hosts are back before it calls one silent', async (_, interrupt) => {
    const it = await setUp(engine);
    const { platform, first, second, seen } = it;
    const looks = createSilenceLooks(it.failing);
    const look = async (minutes: number) => {
      let told = 0;
      for (let i = 0; i < 2 * minutes; i += 1) {
        platform.clock.advance(MINUTE / 2);
        told += await looks.next();
      }
      return told;
    };
    for (let i = 0; i < 5; i += 1) {
      await seen(first, platform.now());
      await seen(second, platform.now());
      expect(await look(1)).toBe(0);
    }
    await interrupt(it, looks.next);
    expect(await looks.next()).toBe(0);
    // As late as a host comes back that found the server away for long.
    expect(await look(4)).toBe(0);
    await seen(first, platform.now());
    expect(await look(1)).toBe(0);
    expect(await look(1)).toBe(1);
    expect((await it.events()).map((event) => event.agent_id)).toEqual([second]);
  });

  test('a server whose clock was set back reports silent hosts', async () => {
    const { platform, first, seen } = await setUp(engine);
    const looks = createSilenceLooks(platform);
    expect(await looks.next()).toBe(0);
    platform.clock.advance(-24 * 60 * MINUTE);
    await seen(first, platform.now());
    let told = 0;
    for (let i = 0; i < 7; i += 1) {
      told += await looks.next();
      platform.clock.advance(MINUTE / 2);
    }
    expect(told).toBe(1);
  });

  test('a mass outage is written piece by piece, and other work has its turn after each', async () => {
    const { database, platform, first, seen, events } = await setUp(engine);
    const hosts = 2 * CHUNK + 1;
    for (let n = 4; n <= hosts; n++) await insertTestAgent(database, { n });
    await database.transact((tx) =>
      tx
        .insertInto('agent_presence')
        .columns(['agent_id', 'last_seen_at'])
        .expression(tx.selectFrom('agents').select((e) => ['id', e.lit(platform.now()).as('seen')]))
        .execute(),
    );
    platform.clock.advance(10 * MINUTE);
    const written: number[] = [];
    const told = await reportSilentAgents(platform, {
      ...{ listeningSince: platform.now() - 10 * MINUTE, isStopped: () => false },
      pace: async () => {
        await seen(first, platform.now());
        written.push((await events()).length);
      },
    });
    expect(written).toEqual([CHUNK, 2 * CHUNK, hosts]);
    expect(told).toBe(hosts);
  });

  test('two servers on one database report once', async () => {
    const { database, platform, first, second, seen, report, events } = await setUp(engine);
    await seen(first, platform.now());
    await seen(second, platform.now());
    platform.clock.advance(10 * MINUTE);
    const other = createTestPlatform(database, { startMs: platform.now(), seed: 'other' });
    const told = await Promise.all([
      report(),
      reportSilentAgents(other, {
        listeningSince: platform.now() - 10 * MINUTE,
        isStopped: () => false,
      }),
    ]);
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect((await events()).map((event) => event.agent_id).toSorted()).toEqual([first, second].toSorted());
  });
});
