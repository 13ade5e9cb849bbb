import { describe, expect, test } from 'vitest';
import { makeCheckpoint } from '../events/make-checkpoint.ts';
import { pruneEvents } from '../events/prune-events.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createNotificationScene, RULE, startReceiver } from '../testing/notification-scene.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { tidyDeliveries } from './background.ts';
import { dueChannels } from './channel-store.ts';
import { createDeliverer } from './deliver.ts';
import { endLeases, leaseDelivery, reviveDeliveries } from './delivery-store.ts';
import { changeChannel, testChannel } from './manage-channels.ts';
import { changeRule } from './manage-rules.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const scene = createNotificationScene(platform);
  const receiver = await startReceiver();
  return { platform, clock: platform.clock, receiver, ...scene };
}

const numbersIn = (received: { payload: { events?: { id: string }[] } }[]) =>
  received.map(({ payload }) => payload.events?.length);

describe.each(ENGINES)('the outbox on $name', (engine) => {
  test('sends what a rule means, with its id, its link and what it says', async () => {
    const { channel, rule, event, take, deliver, deliveries, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await event();
    await rule(id);
    await event({ content: { reason: 'disk full' } });
    await event({ severity: 'info' });
    await take();
    expect(await deliver(id)).toBe(true);
    expect(await deliver(id)).toBe(false);
    const [delivery, ...others] = await deliveries();
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, events: 1, kind: 'events' });
    expect(receiver.received).toEqual([
      {
        id: delivery?.id,
        subject: 'Not installed: a package (disk full).',
        link: 'https://tidegate.example/events',
        payload: {
          kind: 'events',
          rule: { id: delivery?.rule_id, name: 'Rule 1' },
          events: [expect.objectContaining({ type: 'update_failed', severity: 'error', host: null })],
        },
      },
    ]);
  });

  test('takes each event once, whichever server looks, and begins where it stopped', async () => {
    const { channel, rule, event, take, deliveries, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event({ count: 3 });
    await Promise.all([take(), take(), take()]);
    await take();
    expect((await deliveries()).map(({ events }) => events)).toEqual([3]);
    await event();
    await take();
    expect((await deliveries()).map(({ events }) => events)).toEqual([3, 1]);
  });

  test('lets events of its seconds share a message', async () => {
    const { channel, rule, event, take, deliveries, clock, receiver } = await open(engine);
    await rule(await channel(receiver.url), { mode: { kind: 'at_once', batch_seconds: 60 } });
    const looks = new Map();
    await event();
    await take(looks);
    clock.advance(59_000);
    await event();
    await take(looks);
    expect(await deliveries()).toEqual([]);
    clock.advance(1_000);
    await take(looks);
    expect((await deliveries()).map(({ events }) => events)).toEqual([2]);
  });

  test.each([0, 60])('a clock that was set back holds no event back (%s seconds)', async (batch_seconds) => {
    const { channel, rule, event, take, deliveries, clock, receiver } = await open(engine);
    await rule(await channel(receiver.url), { mode: { kind: 'at_once', batch_seconds } });
    const looks = new Map();
    await event();
    if (batch_seconds > 0) await take(looks);
    clock.advance(-DAY_MS);
    await event();
    await take(looks);
    clock.advance(batch_seconds * 1_000);
    await take(looks);
    expect((await deliveries()).map(({ events }) => events)).toEqual([2]);
  });

  test('keeps quiet in quiet hours, and sends everything after them', async () => {
    const { channel, rule, event, take, deliveries, clock, receiver } = await open(engine);
    // The clock of tests stands at 09:00 UTC.
    const quiet = { from: '08:00', until: '10:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5, 6, 7] };
    await rule(await channel(receiver.url), { quiet_hours: quiet });
    await event({ count: 2 });
    await take();
    expect(await deliveries()).toEqual([]);
    clock.advance(HOUR_MS);
    await take();
    expect((await deliveries()).map(({ events }) => events)).toEqual([2]);
  });

  test('has messages of a bounded size, and no event is left out', async () => {
    const { channel, rule, event, take, deliver, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event({ count: 600 });
    await take();
    while (await deliver(id));
    expect(numbersIn(receiver.received)).toEqual([250, 250, 100]);
    const ids = receiver.received.flatMap(({ payload }) => payload.events?.map((one) => one.id) ?? []);
    expect(new Set(ids).size).toBe(600);
  });

  test('tries again later and later, and ends with a dead letter that can be sent again', async () => {
    const { channel, rule, event, take, deliver, deliveries, platform, clock, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event();
    await take();
    receiver.status = 500;
    for (let i = 0; i < 30; i += 1) {
      await deliver(id);
      clock.advance(9 * HOUR_MS);
    }
    expect(receiver.requests).toBe(12);
    const [dead] = await deliveries();
    expect(dead).toMatchObject({ state: 'dead', attempts: 12 });
    receiver.status = 200;
    expect(await deliver(id)).toBe(false);
    const resend = () =>
      platform.database.transact((tx) => reviveDeliveries(tx, { ids: [dead?.id ?? ''] }, platform.now()));
    expect(await resend()).toBe(1);
    await deliver(id);
    expect(receiver.received.map((one) => one.id)).toEqual([dead?.id]);
    expect(await resend()).toBe(0);
  });

  test('a clock that was set back keeps no delivery and no channel waiting', async () => {
    const { channel, rule, event, take, deliver, deliveries, platform, clock, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    const due = () => dueChannels(platform.database.read, platform.now());
    clock.advance(400 * DAY_MS);
    await event();
    await take();
    receiver.status = 500;
    for (let i = 0; i < 4; i += 1) {
      await deliver(id);
      clock.advance(HOUR_MS);
    }
    await deliver(id);
    expect(await due()).toEqual([]);
    const [waiting] = await deliveries();
    const lease = { id: waiting?.id ?? '', nowMs: platform.now(), leaseMs: MINUTE_MS };
    expect(await platform.database.transact((tx) => leaseDelivery(tx, lease))).not.toBeNull();
    clock.advance(-400 * DAY_MS);
    receiver.status = 200;
    expect(await due()).toEqual([id]);
    expect(await deliver(id)).toBe(true);
    expect((await deliveries()).map(({ state }) => state)).toEqual(['delivered']);
  });

  test('records each attempt with its answer, and waits as long as the receiver asks', async () => {
    const { channel, rule, event, take, deliver, platform, clock, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event();
    await take();
    Object.assign(receiver, { status: 503, retryAfter: '600' });
    expect(await deliver(id)).toBe(false);
    clock.advance(5 * MINUTE_MS);
    expect(await deliver(id)).toBe(false);
    expect(receiver.requests).toBe(1);
    Object.assign(receiver, { status: 200, retryAfter: null });
    clock.advance(11 * MINUTE_MS);
    expect(await deliver(id)).toBe(true);
    const attempts = await platform.database.read.selectFrom('notification_attempts').selectAll().execute();
    expect(attempts.map(({ is_delivered: ok, reason, answer }) => [ok, reason === null, answer])).toEqual([
      [0, false, expect.stringContaining('503')],
      [1, true, expect.stringContaining('200')],
    ]);
  });

  test('does not try again what cannot succeed', async () => {
    const { channel, rule, event, take, deliver, deliveries, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event();
    await take();
    receiver.status = 404;
    await deliver(id);
    expect(await deliveries()).toMatchObject([{ state: 'dead', attempts: 1 }]);
  });

  test('tells once that a channel fails and once that it works again, but not the channel itself', async () => {
    const { channel, rule, event, take, deliver, deliveries, events, clock, receiver } = await open(engine);
    const [failing, other] = [await channel(receiver.url, 'Pager'), await channel(receiver.url, 'Mail')];
    const types = ['update_failed', 'notification_channel_failing'] as const;
    await rule(failing, { conditions: { ...RULE.conditions, event_types: [...types] } });
    await rule(other, { conditions: { ...RULE.conditions, event_types: ['notification_channel_failing'] } });
    await event();
    await take();
    receiver.status = 500;
    for (let i = 0; i < 5; i += 1) {
      await deliver(failing);
      clock.advance(HOUR_MS);
    }
    expect(await events('notification_channel_failing')).toMatchObject([
      { channel_id: failing, name: 'Pager' },
    ]);
    await take();
    const about = (await deliveries()).map(({ channel_id: to, events: count }) => [to, count]);
    expect(about).toEqual([
      [failing, 1],
      [other, 1],
    ]);
    receiver.status = 200;
    clock.advance(9 * HOUR_MS);
    await deliver(failing);
    expect(await events('notification_channel_recovered')).toMatchObject([{ channel_id: failing }]);
  });

  test('an attempt that a dead server had begun is made again, with the same id', async () => {
    const { channel, rule, event, take, deliver, deliveries, platform, clock, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    await event();
    await take();
    const [delivery] = await deliveries();
    const lease = () =>
      platform.database.transact((tx) =>
        leaseDelivery(tx, { id: delivery?.id ?? '', nowMs: platform.now(), leaseMs: MINUTE_MS }),
      );
    expect(await lease()).not.toBeNull();
    expect(await lease()).toBeNull();
    expect(await deliver(id)).toBe(false);
    await platform.database.transact(endLeases);
    expect(await lease()).not.toBeNull();
    clock.advance(MINUTE_MS);
    expect(await deliver(id)).toBe(true);
    expect(receiver.received.map((one) => one.id)).toEqual([delivery?.id]);
  });

  test('sends nothing of the time in which a rule or its channel was switched off', async () => {
    const { channel, rule, event, take, deliveries, deps, platform, receiver } = await open(engine);
    const id = await channel(receiver.url);
    const ruleId = await rule(id);
    const config = { kind: 'webhook' as const, url: receiver.url, allow_http: true };
    const setChannel = (is_enabled: boolean) =>
      changeChannel(deps, { id, request: { name: 'Pager', is_enabled, config }, actor: 'ada' });
    const setRule = (is_enabled: boolean) => {
      const request = { ...RULE, name: 'Rule', channel_id: id, is_enabled };
      return changeRule(platform, { id: ruleId, request, actor: 'ada' });
    };
    for (const set of [setChannel, setRule]) {
      await set(false);
      await event();
      await take();
      await set(true);
      await take();
    }
    expect(await deliveries()).toEqual([]);
    await event();
    await take();
    expect((await deliveries()).map(({ events }) => events)).toEqual([1]);
  });

  test('a row whose address was changed sends the secret nowhere', async () => {
    const { channel, deps, platform, signal, receiver } = await open(engine);
    const other = await startReceiver();
    const id = await channel(receiver.url);
    const config = JSON.stringify({ kind: 'webhook', url: other.url, allow_http: true });
    await platform.database.transact((tx) =>
      tx.updateTable('notification_channels').set({ config }).where('id', '=', id).execute(),
    );
    const tested = await testChannel(deps, { id, actor: 'ada', signal });
    expect(tested).toMatchObject({ is_delivered: false, is_permanent: true });
    expect(tested.explanation).toContain('Enter the secret again');
    expect(other.requests).toBe(0);
  });

  test('says how many events were removed before a rule had sent them', async () => {
    const { channel, rule, event, take, deliver, deliveries, events, platform, clock, receiver } =
      await open(engine);
    const id = await channel(receiver.url);
    await rule(id, { quiet_hours: { from: '08:00', until: '10:00', zone: 'UTC', weekdays: [6] } });
    await event({ count: 3 });
    const signer = createCheckpointSigner();
    const file = { path: 'none', append: () => {}, tail: () => [] };
    await makeCheckpoint({ platform, signer, file }, 'always');
    clock.advance(31 * DAY_MS);
    const { removed } = await pruneEvents(platform, {
      ...{ retentionDays: 30, signer, trusted: signer.trusted, isStopped: () => false },
    });
    await take();
    // The creation of the rule came after its place; all but the creation of the channel was behind it.
    const about = { follower: 'the rule Rule 1', position: 1, continues_after: removed, missed: removed - 1 };
    expect(await events('events_missed')).toEqual([about]);
    await event();
    await take();
    await deliver(id);
    expect((await deliveries()).map(({ events: count }) => count)).toEqual([1]);
  });

  test('removes what ended long ago, and keeps what waits', async () => {
    const { channel, rule, event, take, deliver, deliveries, platform, clock, receiver } = await open(engine);
    const id = await channel(receiver.url);
    await rule(id);
    for (let i = 0; i < 2; i += 1) {
      await event();
      await take();
      if (i === 0) await deliver(id);
    }
    clock.advance(29 * DAY_MS);
    await tidyDeliveries(platform);
    expect((await deliveries()).length).toBe(2);
    await jumpAhead(platform, 3 * DAY_MS);
    await tidyDeliveries(platform);
    expect((await deliveries()).length).toBe(2);
    await believeClock(platform);
    await tidyDeliveries(platform);
    expect((await deliveries()).map(({ state }) => state)).toEqual(['waiting']);
    const attempts = await platform.database.read.selectFrom('notification_attempts').selectAll().execute();
    expect(attempts).toEqual([]);
  });

  test('10,000 events with a dead channel: nothing is lost, the other channel has all, and little waits', async () => {
    const { channel, rule, event, take, deliver, deliveries, receiver } = await open(engine);
    const dead = await startReceiver();
    dead.status = 500;
    const [working, failing] = [await channel(receiver.url), await channel(dead.url)];
    await rule(working);
    const stuck = await rule(failing);
    const looks = new Map();
    const most = { waiting: 0 };
    for (let i = 0; i < 10; i += 1) {
      await event({ count: 1_000 });
      await take(looks);
      while (await deliver(working));
      await deliver(failing);
      const waiting = (await deliveries()).filter(({ state }) => state === 'waiting');
      most.waiting = Math.max(most.waiting, waiting.length);
    }
    const ids = receiver.received.flatMap(({ payload }) => payload.events?.map((one) => one.id) ?? []);
    expect([ids.length, new Set(ids).size]).toEqual([10_000, 10_000]);
    expect(receiver.received.length).toBeLessThanOrEqual(50);
    // The rest of the failing rule is still in the log.
    expect(most.waiting).toBe(20);
    dead.status = 200;
    const rows = await deliveries();
    expect(rows.filter((row) => row.rule_id === stuck).length).toBe(20);
  });

  test('a channel that hangs delays no other, and the stop of the server ends its call', async () => {
    const { channel, rule, event, take, deps, deliveries, receiver } = await open(engine);
    const held = Promise.withResolvers<void>();
    const hanging = await channel(`${receiver.url}/hang`);
    const working = await channel(receiver.url);
    await rule(hanging);
    await rule(working);
    await event();
    await take();
    const send: typeof deps.send = async (to, message, { signal, ...rest }) => {
      if (to.id !== hanging) return deps.send(to, message, { signal, ...rest });
      held.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { kind: 'failed', isPermanent: false, reason: 'aborted', answer: null, retryAfterMs: null };
    };
    const deliverer = createDeliverer({ ...deps, send }, { tickMs: 5 });
    deliverer.start();
    await held.promise;
    const states = async () =>
      Object.fromEntries((await deliveries()).map((row) => [row.channel_id, row.state]));
    while ((await states())[working] !== 'delivered') await new Promise((resolve) => setImmediate(resolve));
    await deliverer.stop();
    expect(await states()).toEqual({ [hanging]: 'waiting', [working]: 'delivered' });
  });
});
