import { randomBytes } from 'node:crypto';
import { CheckInAnswer, type CheckInRequest } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { queueCommand } from '../commands/queue-command.ts';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp, createTestKeyRing } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createAddresses } from './addresses.ts';
import { createLastSeen } from './last-seen.ts';
import { mountCheckIn } from './routes.ts';

const idle: CheckInRequest = {
  agent_version: '1.0.0',
  boot_id: 'boot-1',
  uptime_seconds: 60,
  received: [],
  key_set_version: 1,
  inventory_digest: {},
};

describe.each(ENGINES)('check-in on $name', (engine) => {
  async function setUp({ minAgentVersion = null as string | null } = {}) {
    const counted = countStatements(await engine.open());
    const platform = createTestPlatform(counted.database);
    const keyRing = createTestKeyRing();
    // Batches are written when a test flushes them.
    const lastSeen = createLastSeen({ ...platform, gatherMs: 600_000 });
    const app = createSliceApp({ ...platform, random: randomBytes });
    mountCheckIn(app.routes, {
      platform: { ...platform, random: randomBytes },
      config: { minAgentVersion },
      keyRing,
      lastSeen,
      addresses: createAddresses({ ...platform, lastMaxBytes: 1_048_576 }),
    });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(counted.database, {
      n: 1,
      digests: JSON.stringify({ apt: 'a'.repeat(64) }),
    });
    async function checkIn(facts: Partial<CheckInRequest> = {}, { machineId = 'machine-1', of = key } = {}) {
      const response = await app.inject({
        method: 'POST',
        url: `/api/v1/agents/${of.agentId}/check-in`,
        headers: { 'x-machine-id': machineId, 'x-test-agent': of.agentId, 'x-test-family': of.familyId },
        payload: { ...idle, ...facts },
      });
      return response;
    }
    const answerOf = async (facts: Partial<CheckInRequest> = {}) =>
      Value.Parse(CheckInAnswer, (await checkIn(facts)).json());
    return { counted, platform, keyRing, lastSeen, key, checkIn, answerOf };
  }

  test('100 concurrent idle check-ins: one read for all of them, nothing signed, nothing written but the flush', async () => {
    const { counted, keyRing, lastSeen, checkIn } = await setUp();
    const keys = await Promise.all(
      Array.from({ length: 100 }, (_, i) => insertTestAgent(counted.database, { n: i + 2 })),
    );
    const rounds = () => Promise.all(keys.map((of, i) => checkIn({}, { of, machineId: `machine-${i + 2}` })));
    await rounds(); // the first one writes boot id and key set
    await lastSeen.stop();
    counted.reset();
    keyRing.signatures = 0;
    const responses = await rounds();
    expect(new Set(responses.map((response) => response.statusCode))).toEqual(new Set([200]));
    expect(counted).toMatchObject({ hotReads: 1, hotWrites: 0, transactions: 0, otherReads: 0 });
    expect(keyRing.signatures).toBe(0);
    await lastSeen.stop();
    expect(counted).toMatchObject({ hotReads: 1, hotWrites: 1, transactions: 0, otherReads: 0 });
  });

  test('the answer has the state, no commands, and a spread time of the next check-in', async () => {
    const { keyRing, answerOf } = await setUp();
    const answer = await answerOf();
    expect(answer).toMatchObject({ commands: [], report: [], server_time: '2026-11-21T09:00:00.000Z' });
    expect(answer.state).toEqual(JSON.parse(await keyRing.state()));
    expect(answer.next_check_in_seconds).toBeGreaterThanOrEqual(54);
    expect(answer.next_check_in_seconds).toBeLessThanOrEqual(66);
  });

  test('reports are requested if the digest differs from the stored one', async () => {
    const { answerOf } = await setUp();
    const digests = { apt: 'a'.repeat(64), npm: 'b'.repeat(64) };
    expect((await answerOf({ inventory_digest: digests })).report).toEqual(['npm']);
    expect((await answerOf({ inventory_digest: { apt: 'c'.repeat(64) } })).report).toEqual(['apt']);
  });

  test('section 3: a check-in binds an unbound agent, with an event; the machine of another agent is 409', async () => {
    const { counted, checkIn } = await setUp();
    const of = await insertTestAgent(counted.database, { n: 7, machineId: null });
    expect((await checkIn({}, { of, machineId: 'machine-1' })).json()).toMatchObject({ code: 'conflict' });
    expect((await checkIn({}, { of, machineId: 'machine-7' })).statusCode).toBe(200);
    const row = await counted.database.read
      .selectFrom('agents')
      .select('machine_id')
      .where('id', '=', of.agentId)
      .executeTakeFirst();
    expect(row?.machine_id).toBe('machine-7');
    const events = await counted.database.read.selectFrom('events').select('type').execute();
    expect(events.map(({ type }) => type).toSorted()).toEqual(['MACHINE_BOUND', 'MACHINE_ID_MISMATCH']);
  });

  test('section 6: the machine of another agent leaves its event and its log line, and changes nothing', async () => {
    const { counted, platform, checkIn } = await setUp();
    const of = await insertTestAgent(counted.database, { n: 7, machineId: null });
    const facts = { boot_id: 'boot-9' };
    expect((await checkIn(facts, { of, machineId: 'machine-1' })).statusCode).toBe(409);
    const { read } = counted.database;
    const events = await read.selectFrom('events').select(['type', 'agent_id', 'content']).execute();
    expect(events.map((event) => ({ ...event, content: JSON.parse(event.content) }))).toEqual([
      {
        type: 'MACHINE_ID_MISMATCH',
        agent_id: of.agentId,
        content: {
          endpoint: 'POST /api/v1/agents/:agent_id/check-in',
          recorded_machine_id: null,
          reported_machine_id: 'machine-1',
        },
      },
    ]);
    const marker = '[WARN] [server] [middleware] machine_id_mismatch ';
    expect(platform.lines.filter((line) => line.startsWith(marker))).toHaveLength(1);
    const row = await read
      .selectFrom('agents')
      .select(['machine_id', 'boot_id'])
      .where('id', '=', of.agentId)
      .executeTakeFirst();
    expect(row).toEqual({ machine_id: null, boot_id: null });
  });

  test('concurrent check-ins of one unbound agent are no mismatch: one binds it, the others are 409', async () => {
    const { counted, checkIn } = await setUp();
    const of = await insertTestAgent(counted.database, { n: 7, machineId: null });
    const answers = await Promise.all([1, 2, 3].map(() => checkIn({}, { of, machineId: 'machine-7' })));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 409, 409]);
    const events = await counted.database.read.selectFrom('events').select('type').execute();
    expect(events).toEqual([{ type: 'MACHINE_BOUND' }]);
  });

  test('a command is delivered until its receipt, and a withheld one costs no transaction', async () => {
    const { counted, platform, key, answerOf } = await setUp();
    await answerOf();
    const queue = (notBeforeMs: number) =>
      counted.database.transact((tx) =>
        queueCommand(tx, platform, {
          agentId: key.agentId,
          action: 'scan',
          params: {},
          notBeforeMs,
          createdBy: 'ada',
        }),
      );
    const id = await queue(platform.now());
    const first = await answerOf();
    expect(first.commands.length).toBe(1);
    expect((await answerOf()).commands).toEqual(first.commands);
    expect((await answerOf({ received: [id] })).commands).toEqual([]);
    await queue(platform.now() + 60_000);
    counted.reset();
    expect((await answerOf()).commands).toEqual([]);
    expect(counted).toMatchObject({ hotReads: 1, otherReads: 1, transactions: 0 });
  });

  test('facts of an agent are written when they change', async () => {
    const { counted, key, answerOf } = await setUp();
    await answerOf({ agent_version: '1.1.0', boot_id: 'boot-2', key_set_version: 4, uptime_seconds: 9 });
    const row = await counted.database.read
      .selectFrom('agents')
      .select(['agent_version', 'boot_id', 'key_set_version', 'uptime_seconds'])
      .where('id', '=', key.agentId)
      .executeTakeFirst();
    expect(row).toEqual({
      agent_version: '1.1.0',
      boot_id: 'boot-2',
      key_set_version: 4,
      uptime_seconds: 9,
    });
  });

  test('an agent below the minimum version receives only its own update', async () => {
    const { counted, platform, keyRing, key, answerOf } = await setUp({ minAgentVersion: '2.0.0' });
    const expiresAtMs = platform.now() + 1_000_000;
    const { agentId } = key;
    const of = { agentId, n: 1, state: 'approved', expiresAtMs, keyRing };
    const approved = await insertTestUpdate(counted.database, of);
    for (const wanted of [
      { action: 'scan', params: {} },
      { ...approved, action: 'update_agent', params: { update_id: approved.updateId } },
    ] as const) {
      const command = { ...wanted, agentId, createdBy: 'ada' };
      await counted.database.transact((tx) => queueCommand(tx, platform, command));
    }
    expect((await answerOf()).commands.length).toBe(1);
    expect((await answerOf({ agent_version: '2.0.0' })).commands.length).toBe(2);
  });

  test('an unknown field is 400', async () => {
    const { checkIn } = await setUp();
    const response = await checkIn(Object.assign({}, idle, { hostname: 'x' }));
    expect(response.statusCode).toBe(400);
  });
});

function countStatements(database: Database) {
  const counted = {
    database,
    hotReads: 0,
    hotWrites: 0,
    transactions: 0,
    otherReads: 0,
    reset() {
      Object.assign(counted, { hotReads: 0, hotWrites: 0, transactions: 0, otherReads: 0 });
    },
  };
  counted.database = {
    ...database,
    get read() {
      counted.otherReads++;
      return database.read;
    },
    transact(work) {
      counted.transactions++;
      return database.transact(work);
    },
    prepareRead(sql) {
      const read = database.prepareRead(sql);
      return (parameters) => {
        counted.hotReads++;
        return read(parameters);
      };
    },
    prepareWrite(sql) {
      const write = database.prepareWrite(sql);
      return (parameters) => {
        counted.hotWrites++;
        return write(parameters);
      };
    },
  };
  return counted;
}
