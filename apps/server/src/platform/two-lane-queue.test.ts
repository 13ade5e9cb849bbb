import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Batch, createTwoLaneQueue, type TwoLaneQueueOptions } from './two-lane-queue.ts';

const PATIENCE_MS = 30_000;
const URGENT = { lane: 'urgent', timeoutMs: PATIENCE_MS } as const;
const BACKGROUND = { lane: 'background', timeoutMs: PATIENCE_MS } as const;

type Outcome = 'done' | 'early' | 'not asked';

/** A queue of names whose work is ended by hand: `end` ends the oldest batch of those items. */
function createScene(options: Partial<TwoLaneQueueOptions<string, Outcome>> = {}) {
  const begun: string[] = [];
  const errors: unknown[] = [];
  const held = new Map<string, { batch: Batch<string, Outcome>; ended: PromiseWithResolvers<void> }>();
  const queue = createTwoLaneQueue<string, Outcome>({
    keyOf: (item) => item,
    async work(batch) {
      const name = `${batch.lane}: ${batch.items.join(' ')}`;
      const ended = Promise.withResolvers<void>();
      held.set(name, { batch, ended });
      begun.push(name);
      await ended.promise;
      batch.settle(batch.items, () => 'done');
    },
    onError: (error) => void errors.push(error),
    notAsked: 'not asked',
    ...{ batchMax: 10, queueMax: 100, concurrency: 1 },
    ...options,
  });
  function heldBatch(name: string) {
    const found = held.get(name);
    if (!found) throw new Error(`${name} is not in progress, only ${[...held.keys()]}`);
    return found;
  }
  return {
    queue,
    begun,
    errors,
    batch: (name: string) => heldBatch(name).batch,
    end(name: string): Promise<void> {
      heldBatch(name).ended.resolve();
      held.delete(name);
      return turn();
    },
    fail(name: string): Promise<void> {
      heldBatch(name).ended.reject(new Error(name));
      held.delete(name);
      return turn();
    },
  };
}

/** Every promise that can go on has gone on. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the two-lane queue', () => {
  test('urgent items never wait for the background, and the background never for them', async () => {
    const it = createScene();
    const slow = it.queue.ask(['a'], BACKGROUND);
    await turn();
    const urgent = it.queue.ask(['b'], URGENT);
    await turn();
    expect(it.begun).toEqual(['background: a', 'urgent: b']);
    await it.end('urgent: b');
    expect(await urgent).toEqual(new Map([['b', 'done']]));
    await it.end('background: a');
    expect(await slow).toEqual(new Map([['a', 'done']]));
  });

  test.each(['urgent', 'background'] as const)(
    'in the %s lane a key that is asked for twice is done once',
    async (lane) => {
      const it = createScene({ batchMax: 1 });
      const how = { lane, timeoutMs: PATIENCE_MS };
      const asked = [it.queue.ask(['a', 'b', 'a'], how), it.queue.ask(['b'], how)];
      await turn();
      // Once while it is in progress, and once while it is queued.
      asked.push(it.queue.ask(['a'], how), it.queue.ask(['b'], how));
      await it.end(`${lane}: a`);
      await it.end(`${lane}: b`);
      for (const outcomes of await Promise.all(asked))
        expect(new Set(outcomes.values())).toEqual(new Set(['done']));
      expect(it.begun).toEqual([`${lane}: a`, `${lane}: b`]);
    },
  );

  test('background work in progress is repeated for an urgent ask, and whichever ends first answers both', async () => {
    const it = createScene();
    const slow = it.queue.ask(['a'], BACKGROUND);
    await turn();
    const urgent = it.queue.ask(['a'], URGENT);
    await turn();
    expect(it.begun).toEqual(['background: a', 'urgent: a']);
    await it.end('urgent: a');
    expect([await slow, await urgent]).toEqual([new Map([['a', 'done']]), new Map([['a', 'done']])]);
    await it.end('background: a');
  });

  test('urgent work in progress answers the background, which does not repeat it', async () => {
    const it = createScene();
    const urgent = it.queue.ask(['a'], URGENT);
    await turn();
    const slow = it.queue.ask(['a'], BACKGROUND);
    await it.end('urgent: a');
    expect([await slow, await urgent]).toEqual([new Map([['a', 'done']]), new Map([['a', 'done']])]);
    expect(it.begun).toEqual(['urgent: a']);
  });

  test('items of one turn share a batch, in batches of at most `batchMax`', async () => {
    const it = createScene({ batchMax: 2 });
    it.queue.add(['a']);
    it.queue.add(['b', 'c']);
    await turn();
    await it.end('background: a b');
    await it.end('background: c');
    expect(it.begun).toEqual(['background: a b', 'background: c']);
  });

  test('items of one group are one piece of work and take one place', async () => {
    const it = createScene({ batchMax: 1, queueMax: 1, groupOf: (item) => item.slice(0, 1) });
    const asked = it.queue.ask(['a1', 'b1', 'a2'], URGENT);
    await turn();
    await it.end('urgent: a1 a2');
    expect(await asked).toEqual(
      new Map([
        ['b1', 'not asked'],
        ['a1', 'done'],
        ['a2', 'done'],
      ]),
    );
  });

  test('at the bound the next items are not asked, and there is room again once a batch has begun', async () => {
    const it = createScene({ batchMax: 1, queueMax: 2 });
    const asked = it.queue.ask(['a', 'b', 'c'], URGENT);
    await turn();
    it.queue.add(['d', 'e', 'f']);
    const later = it.queue.ask(['c'], URGENT);
    for (const item of ['a', 'b', 'c']) await it.end(`urgent: ${item}`);
    expect((await asked).get('c')).toBe('not asked');
    expect(await later).toEqual(new Map([['c', 'done']]));
    for (const item of ['d', 'e']) await it.end(`background: ${item}`);
    await it.queue.idle();
    expect(it.begun).toHaveLength(5);
  });

  test('as many batches of a lane are in progress as `concurrency` says', async () => {
    const it = createScene({ batchMax: 1, concurrency: 2 });
    it.queue.add(['a', 'b', 'c']);
    await turn();
    expect(it.begun).toEqual(['background: a', 'background: b']);
    await it.end('background: b');
    expect(it.begun).toEqual(['background: a', 'background: b', 'background: c']);
    await it.end('background: a');
    await it.end('background: c');
  });

  test('a wait that is over leaves out what has no outcome yet; the work goes on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const it = createScene({ batchMax: 1, concurrency: 2 });
    const asked = it.queue.ask(['a', 'b'], { lane: 'urgent', timeoutMs: PATIENCE_MS });
    await turn();
    await it.end('urgent: a');
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect(await asked).toEqual(new Map([['a', 'done']]));
    expect([it.queue.isInProgress('a'), it.queue.isInProgress('b')]).toEqual([false, true]);
    const again = it.queue.ask(['b'], URGENT);
    await it.end('urgent: b');
    expect(await again).toEqual(new Map([['b', 'done']]));
  });

  test('work settles items before it ends: their waits are over, and they may be asked for again', async () => {
    const it = createScene();
    const asked = [it.queue.ask(['a'], URGENT), it.queue.ask(['b'], URGENT)];
    await turn();
    it.batch('urgent: a b').settle(['a'], () => 'early');
    expect(await asked[0]).toEqual(new Map([['a', 'early']]));
    const again = it.queue.ask(['a'], URGENT);
    await it.end('urgent: a b');
    expect(await asked[1]).toEqual(new Map([['b', 'done']]));
    await it.end('urgent: a');
    expect(await again).toEqual(new Map([['a', 'done']]));
  });

  test('work that fails is reported, its items are not asked, and the lane goes on', async () => {
    const it = createScene({ batchMax: 1 });
    const asked = it.queue.ask(['a', 'b'], URGENT);
    await turn();
    await it.fail('urgent: a');
    await it.end('urgent: b');
    expect(await asked).toEqual(
      new Map([
        ['a', 'not asked'],
        ['b', 'done'],
      ]),
    );
    expect(it.errors).toEqual([Error('urgent: a')]);
  });

  test('work that forgets an item still ends its wait', async () => {
    const it = createScene({ work: async () => {} });
    expect(await it.queue.ask(['a'], URGENT)).toEqual(new Map([['a', 'not asked']]));
  });

  test('stop ends every wait at once, waits for the work in progress, and starts no more', async () => {
    const it = createScene({ batchMax: 1 });
    const asked = [it.queue.ask(['a', 'b'], URGENT), it.queue.ask(['c'], BACKGROUND)];
    await turn();
    const batch = it.batch('urgent: a');
    let isOver = false;
    const stopped = it.queue.stop().then(() => {
      isOver = true;
    });
    expect(await Promise.all(asked)).toEqual([
      new Map([
        ['a', 'not asked'],
        ['b', 'not asked'],
      ]),
      new Map([['c', 'not asked']]),
    ]);
    expect([batch.isStopped(), isOver]).toEqual([true, false]);
    await it.end('urgent: a');
    expect(isOver).toBe(false);
    await it.end('background: c');
    await stopped;
    it.queue.add(['d']);
    expect(await it.queue.ask(['d'], URGENT)).toEqual(new Map([['d', 'not asked']]));
    await turn();
    expect(it.begun).toEqual(['urgent: a', 'background: c']);
  });

  test('an ask for nothing is over at once', async () => {
    expect(await createScene().queue.ask([], URGENT)).toEqual(new Map());
  });

  test('whatever is asked for is answered once, and no key is in progress twice in a lane', async () => {
    const ask = fc.record({
      items: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 6 }),
      lane: fc.constantFrom('urgent' as const, 'background' as const),
      /** Promises that go on before the next ask: items are added at every point of a run. */
      ticks: fc.nat(6),
    });
    const property = fc.asyncProperty(
      fc.array(ask, { maxLength: 30 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(5),
      async (asks, batchMax, concurrency, workTicks) => {
        const inProgress = new Set<string>();
        let most = 0;
        const { queue } = createScene({
          ...{ batchMax, concurrency },
          async work({ items, lane, settle }) {
            const keys = items.map((item) => `${lane} ${item}`);
            for (const key of keys) {
              if (inProgress.has(key)) throw new Error(`${key} is in progress twice`);
              inProgress.add(key);
            }
            most = Math.max(most, items.length);
            for (let n = 0; n < workTicks; n++) await Promise.resolve();
            for (const key of keys) inProgress.delete(key);
            settle(items, () => 'done');
          },
        });
        const asked = [];
        for (const { items, lane, ticks } of asks) {
          asked.push(queue.ask(items, { lane, timeoutMs: PATIENCE_MS }));
          for (let n = 0; n < ticks; n++) await Promise.resolve();
        }
        const answers = await Promise.all(asked);
        for (const [i, answer] of answers.entries()) {
          expect(answer).toEqual(new Map((asks[i]?.items ?? []).map((item) => [item, 'done'])));
        }
        expect(most).toBeLessThanOrEqual(batchMax);
        await queue.stop();
      },
    );
    await fc.assert(property);
  });
});
