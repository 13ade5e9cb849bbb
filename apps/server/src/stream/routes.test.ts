import { StreamMessage } from '@tidegate/protocol/stream-api';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertCommands } from '../commands/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { NO_SECOND_FACTOR } from '../platform/http/step-up.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createNotificationScene, startReceiver } from '../testing/notification-scene.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createOutbox } from './outbox.ts';
import { mountStream, STREAMS_PER_OPERATOR, streamChanges } from './routes.ts';
import { createChangeWatch } from './watch-changes.ts';

const ADA: OperatorCaller = {
  operatorId: '01900000-0000-7000-a000-000000000001',
  username: 'ada',
  role: 'admin',
  groups: null,
  sessionId: 'test',
  address: '127.0.0.1',
  secondFactor: NO_SECOND_FACTOR,
};

async function createScene(engine: TestEngine, { heartbeatMs = 60_000 } = {}) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const app = createSliceApp(platform);
  const watch = createChangeWatch(platform, { lookEveryMs: 10 });
  const scene = { caller: ADA as OperatorCaller | null };
  mountStream(app.routes, { platform, watch, heartbeatMs, identify: async () => scene.caller });
  onTestFinished(async () => {
    await app.close();
    await watch.stop();
  });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });

  /** Opens a stream; `text` has everything received. */
  async function open({ headers = {}, query = '' } = {}) {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const answer = await fetch(`${base}/api/v1/stream${query}`, { headers, signal: stop.signal });
    const read = { text: '', isOver: false };
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) read.text += decoder.decode(chunk, { stream: true });
    })()
      .catch(() => {})
      .finally(() => {
        read.isOver = true;
      });
    const messages = () =>
      [...read.text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
        Value.Parse(StreamMessage, JSON.parse(data)),
      );
    if (answer.ok) await expect.poll(() => read.text).toContain(': open\n\n');
    return { answer, read, reading, messages, close: () => stop.abort() };
  }
  return { ...scene, scene, app, base, database, platform, watch, open };
}

describe.each(ENGINES)('the stream of changes on $name', (engine) => {
  test('names the topic and the ids of written rows, whoever wrote them', async () => {
    const { database, platform, open } = await createScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const stream = await open();
    expect(stream.answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.read.text).toBe('retry: 3000\n: open\n\n');
    const expiresAtMs = platform.now() + 1;
    const { updateId } = await insertTestUpdate(database, { agentId, n: 1, state: 'pending', expiresAtMs });
    // Its timestamp is old: the stream must not report it.
    await database.transact((tx) =>
      tx.updateTable('updates').set({ updated_at: platform.now() }).where('id', '=', updateId).execute(),
    );
    await expect
      .poll(stream.messages)
      .toEqual([{ topic: 'updates', ids: [updateId], at: '2026-11-21T09:00:00.000Z' }]);
  });

  test('reports each topic, and those that an event concerns', async () => {
    const { database, platform, open } = await createScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const stream = await open();
    const nowMs = platform.now();
    await database.transact(async (tx) => {
      await appendEvent(tx, platform, {
        kind: 'security',
        type: 'AGENT_REVOKED',
        severity: 'warning',
        component: 'agents',
        agentId,
        content: {},
      });
      for (const type of ['RATE_LIMITS_CHANGED', 'OPERATOR_CHANGED'] as const) {
        await appendEvent(tx, platform, {
          kind: 'security',
          type,
          severity: 'info',
          component: 'test',
          content: { secret: 'not for the stream' },
        });
      }
      await tx
        .insertInto('key_sets')
        .values({
          ...{ version: 7, envelope: '{}', signed_by: 'x', issued_at: nowMs, expires_at: nowMs },
        })
        .execute();
      await tx.insertInto('exploited_feeds').values({ feed: 'kev', fetched_at: nowMs, entries: 1 }).execute();
      await tx
        .insertInto('bulk_runs')
        .values({
          ...{ operator_id: 'o', progress_id: 'p', state: 'running', done: 1, total: 2, approved: 1 },
          ...{ blocked: 0, waiting: 0, skipped: 0, started_at: nowMs, updated_at: nowMs },
        })
        .execute();
      await insertCommands(tx, [
        {
          row: {
            ...{ id: platform.newId(), agent_id: agentId, action: 'scan', params: '{}', status: 'pending' },
            ...{
              created_by: 'ada',
              created_at: nowMs,
              not_before: nowMs,
              expires_at: nowMs,
              changed_at: nowMs,
            },
            ...{ approval_id: null, approval_sha256: null },
          },
          updateIds: [],
        },
      ]);
    });
    const topics = () => new Set(stream.messages().map(({ topic }) => topic));
    await expect
      .poll(topics)
      .toEqual(new Set(['events', 'hosts', 'limits', 'operators', 'keys', 'advisories', 'bulk', 'commands']));
    expect(stream.messages().find(({ topic }) => topic === 'hosts')?.ids).toEqual([agentId]);
    expect(stream.read.text).not.toContain('not for the stream');
  });

  test('reports notifications: channels, rules, and what becomes of deliveries', async () => {
    const { database, platform, open } = await createScene(engine);
    const stream = await open();
    const told = () => stream.messages().filter(({ topic }) => topic === 'notifications').length;
    const scene = createNotificationScene(platform);
    const receiver = await startReceiver();
    async function isTold(work: () => Promise<unknown>): Promise<void> {
      const before = told();
      await work();
      await expect.poll(told).toBeGreaterThan(before);
    }
    let channel = '';
    await isTold(async () => {
      channel = await scene.channel(receiver.url);
    });
    await isTold(() => scene.rule(channel));
    await scene.event();
    await isTold(() => scene.take());
    receiver.status = 500;
    await isTold(() => scene.deliver(channel));
    platform.clock.advance(60_000);
    receiver.status = 200;
    await isTold(() => scene.deliver(channel));
    await isTold(() => database.transact((tx) => tx.deleteFrom('notification_rules').execute()));
  });

  test('sees rows that are committed after newer ones', async () => {
    const { database, platform, open } = await createScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const ids: string[] = [];
    for (const n of [1, 2]) {
      const row = { agentId, n, state: 'pending', expiresAtMs: platform.now() };
      ids.push((await insertTestUpdate(database, row)).updateId);
    }
    const [first = '', second = ''] = ids;
    const write = (id: string, atMs: number) =>
      database.transact((tx) =>
        tx.updateTable('updates').set({ updated_at: atMs }).where('id', '=', id).execute(),
      );
    const stream = await open();
    platform.clock.advance(20_000);
    await write(first, platform.now());
    // A row written during a poll may be reported twice, also with the next one.
    const told = () => [...new Set(stream.messages().flatMap(({ ids: named = [] }) => named))];
    await expect.poll(told).toEqual([first]);
    await write(second, platform.now() - 5_000);
    await expect.poll(told).toEqual([first, second]);
  });

  test('names no ids after many changes, nor to an operator of some groups', async () => {
    const { database, platform, open } = await createScene(engine);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const [all, bound] = [await open(), await open({ headers: { 'x-test-groups': 'web' } })];
    const revoke = (times: number) =>
      database.transact(async (tx) => {
        for (let i = 0; i < times; i++) {
          await appendEvent(tx, platform, {
            ...{ kind: 'system', type: 'agent_offline', severity: 'warning' },
            ...{ component: 'agents', agentId, content: {} },
          });
        }
      });
    await revoke(1);
    await expect
      .poll(() => bound.messages().map(({ topic, ids }) => ids ?? topic))
      .toEqual(['events', 'hosts']);
    await expect.poll(() => all.messages().filter(({ ids }) => ids).length).toBe(2);
    await revoke(51);
    await expect.poll(() => all.messages().some(({ topic, ids }) => topic === 'events' && !ids)).toBe(true);
  });

  test('reads nothing without listeners, and again when one returns', async () => {
    const { database, platform, open, watch } = await createScene(engine);
    const first = await open();
    first.close();
    const stream = await open();
    await database.transact((tx) =>
      appendEvent(tx, platform, {
        ...{
          kind: 'security',
          type: 'LOGIN_FAILED',
          severity: 'warning',
          component: 'operators',
          content: {},
        },
      }),
    );
    await expect.poll(() => stream.messages().map(({ topic }) => topic)).toEqual(['events']);
    stream.close();
    await watch.stop();
  });
});

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('SQLite is always there');

describe('a stream', () => {
  test('ends with the session, at the next heartbeat', async () => {
    const { scene, open } = await createScene(sqlite, { heartbeatMs: 10 });
    const stream = await open();
    await expect.poll(() => stream.read.text).toContain(': beat\n\n');
    scene.caller = null;
    await stream.reading;
    expect(stream.read.isOver).toBe(true);
  });

  test.each([
    ['another role', { role: 'viewer' as const }],
    ['other groups', { groups: ['web'] }],
  ])('ends for an operator who has %s by now', async (_, change) => {
    const { scene, open } = await createScene(sqlite, { heartbeatMs: 10 });
    const stream = await open();
    scene.caller = { ...ADA, ...change };
    await stream.reading;
    expect(stream.read.isOver).toBe(true);
  });

  test('ends at the requested time, and with the server', async () => {
    const { app, open } = await createScene(sqlite);
    const short = await open({ query: '?seconds=0' });
    await short.reading;
    const long = await open();
    await app.close();
    await long.reading;
    expect([short.read.isOver, long.read.isOver]).toEqual([true, true]);
  });

  test('is refused past the limit of one operator, until one of them ends', async () => {
    const { open } = await createScene(sqlite);
    const streams = await Promise.all(Array.from({ length: STREAMS_PER_OPERATOR }, () => open()));
    const refused = await open();
    expect([refused.answer.status, refused.answer.headers.get('retry-after')]).toEqual([
      503,
      expect.any(String),
    ]);
    streams[0]?.close();
    await expect.poll(async () => (await open({ query: '?seconds=0' })).answer.status).toBe(200);
  });

  test.each(['61', '-1', '1.5', 'x', ''])('refuses to end after %j seconds', async (seconds) => {
    const { base } = await createScene(sqlite);
    expect((await fetch(`${base}/api/v1/stream?seconds=${seconds}`)).status).toBe(400);
  });
});

test('a stalled reader holds one message per topic, and is disconnected at the second heartbeat', async () => {
  const outbox = createOutbox({ withIds: true });
  for (let i = 0; i < 1_000; i++) outbox.add([{ topic: 'updates', ids: [`id-${i}`] }]);
  outbox.add([{ topic: 'hosts', ids: ['a'] }]);
  outbox.add([{ topic: 'hosts', ids: ['b', 'a'] }]);
  expect([outbox.beat(), outbox.beat()]).toEqual([true, false]);
  const texts: string[] = [];
  const stop = new AbortController();
  for await (const text of streamChanges({
    outbox,
    signal: stop.signal,
    isLive: async () => true,
    now: () => 0,
  })) {
    texts.push(text);
    if (text === ': beat\n\n') stop.abort();
  }
  expect(texts).toEqual([
    'retry: 3000\n: open\n\n',
    'data: {"topic":"updates","at":"1970-01-01T00:00:00.000Z"}\n\n',
    'data: {"topic":"hosts","ids":["a","b"],"at":"1970-01-01T00:00:00.000Z"}\n\n',
    ': beat\n\n',
  ]);
});
