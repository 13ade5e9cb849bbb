import { describe, expect, test } from 'vitest';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { type Followed, nextEvents, passEvents } from './follow-events.ts';
import { moveFollower } from './followers-store.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { pruneEvents } from './prune-events.ts';

const DAY_MS = 86_400_000;

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database, clock } = platform;
  const append = (count: number) =>
    database.transact(async (tx) => {
      for (let i = 0; i < count; i++) {
        await appendEvent(tx, platform, {
          kind: 'security',
          type: 'MACHINE_BOUND',
          severity: 'info',
          component: 'agents',
          content: {},
        });
      }
    });
  const next = (begin: 'oldest' | 'newest' = 'oldest', limit = 3) =>
    nextEvents(platform, { name: 'siem', begin, limit });
  const pass = ({ passed }: Followed) => database.transact((tx) => passEvents(tx, platform, passed));
  const signer = createCheckpointSigner();
  async function prune(): Promise<number> {
    await makeCheckpoint(
      {
        platform,
        signer,
        file: { path: 'none', append: () => {}, tail: () => [] },
      },
      'always',
    );
    clock.advance(31 * DAY_MS);
    const { trusted } = signer;
    return (await pruneEvents(platform, { retentionDays: 30, signer, trusted, isStopped: () => false }))
      .removed;
  }
  return { platform, append, next, pass, prune };
}

const positionsOf = ({ events }: Followed) => events.map(({ position }) => position);

describe.each(ENGINES)('following the events on $name', (engine) => {
  test('a new follower begins at the oldest event, or after the newest', async () => {
    const { append, next } = await open(engine);
    await append(2);
    expect(positionsOf(await next('oldest'))).toEqual([1, 2]);
    const { append: appendMore, next: nextOfOther } = await open(engine);
    await appendMore(2);
    expect(positionsOf(await nextOfOther('newest'))).toEqual([]);
    await appendMore(1);
    expect(positionsOf(await nextOfOther('newest'))).toEqual([3]);
  });

  test('the same events are read again until they are passed, then those after them', async () => {
    const { append, next, pass } = await open(engine);
    await append(5);
    expect(positionsOf(await next())).toEqual([1, 2, 3]);
    const again = await next();
    expect(positionsOf(again)).toEqual([1, 2, 3]);
    expect(await pass(again)).toBe(true);
    const rest = await next();
    expect(positionsOf(rest)).toEqual([4, 5]);
    await pass(rest);
    expect(await next()).toEqual({ events: [], passed: { name: 'siem', from: 5, to: 5 } });
  });

  test('a position that another server has moved stays', async () => {
    const { append, next, pass } = await open(engine);
    await append(5);
    const [ours, theirs] = [await next('oldest', 2), await next('oldest', 3)];
    expect([await pass(theirs), await pass(ours)]).toEqual([true, false]);
    expect(positionsOf(await next())).toEqual([4, 5]);
  });

  test('an act that fails does not pass the events', async () => {
    const { platform, append, next } = await open(engine);
    await append(2);
    const { passed } = await next();
    const failing = platform.database.transact(async (tx) => {
      await passEvents(tx, platform, passed);
      throw new Error('no room');
    });
    await expect(failing).rejects.toThrow('no room');
    expect(positionsOf(await next())).toEqual([1, 2]);
  });

  test('events that were pruned before they were passed are counted in an event', async () => {
    const { append, next, pass, prune } = await open(engine);
    await append(5);
    await pass(await next('oldest', 2));
    expect(await prune()).toBe(5);
    const left = await next();
    expect(left.events.map(({ position, type }) => [position, type])).toEqual([
      [6, 'events_pruned'],
      [7, 'events_missed'],
    ]);
    expect(JSON.parse(left.events[1]?.content ?? '')).toEqual({
      follower: 'siem',
      position: 2,
      continues_after: 5,
      missed: 3,
    });
    await pass(left);
    expect(positionsOf(await next())).toEqual([]);
  });

  test('events that were passed and then pruned are not missed', async () => {
    const { append, next, pass, prune } = await open(engine);
    await append(3);
    await pass(await next());
    await prune();
    expect((await next()).events.map(({ type }) => type)).toEqual(['events_pruned']);
  });

  test('a position past the end of the log begins again', async () => {
    const { platform, append, next } = await open(engine);
    await append(2);
    await next();
    await platform.database.transact((tx) => moveFollower(tx, { name: 'siem', from: 0, to: 99, nowMs: 1 }));
    expect((await next()).events.map(({ type }) => type)).toEqual([
      'MACHINE_BOUND',
      'MACHINE_BOUND',
      'events_missed',
    ]);
  });
});
