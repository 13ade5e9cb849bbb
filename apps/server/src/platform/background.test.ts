import { describe, expect, test } from 'vitest';
import { createBackground, type Work } from './background.ts';

function createScene() {
  const calls: string[] = [];
  const logged: unknown[] = [];
  const background = createBackground({
    error: (message, fields) => void logged.push({ message, ...fields }),
  });
  const work = (name: string): Work => ({
    start: () => void calls.push(`start ${name}`),
    stop: () => void calls.push(`stop ${name}`),
  });
  const failing = (name: string): Work => ({
    async stop() {
      calls.push(`stop ${name}`);
      throw new Error(`${name} failed`);
    },
  });
  return { background, calls, logged, work, failing };
}

describe('the list of background work', () => {
  test('starts in the order of registration and stops in the reverse order', () => {
    const { background, calls, work } = createScene();
    for (const name of ['a', 'b', 'c']) background.use(name, work(name));
    background.start();
    expect(calls.splice(0)).toEqual(['start a', 'start b', 'start c']);
    return background.stop().then(() => expect(calls).toEqual(['stop c', 'stop b', 'stop a']));
  });

  test('returns the work that was registered', () => {
    const { background, work } = createScene();
    const [one, other] = [work('one'), work('other')];
    expect(background.use('one', one)).toBe(one);
    expect(background.useOutgoing('other', other)).toBe(other);
  });

  test('stops outgoing work first and all at once, and waits for it before it stops the rest', async () => {
    const { background, calls, work } = createScene();
    const slow = Promise.withResolvers<void>();
    background.useOutgoing('source', {
      async stop() {
        calls.push('stop source');
        await slow.promise;
        calls.push('source ended');
      },
    });
    background.useOutgoing('other source', work('other source'));
    background.use('sweep', work('sweep'));
    const stopped = background.stop();
    expect(calls).toEqual(['stop source', 'stop other source']);
    slow.resolve();
    await stopped;
    expect(calls).toEqual(['stop source', 'stop other source', 'source ended', 'stop sweep']);
  });

  test('work without a start is stopped like the rest', async () => {
    const { background, calls } = createScene();
    background.use('on demand', { stop: () => void calls.push('stop on demand') });
    background.start();
    await background.stop();
    expect(calls).toEqual(['stop on demand']);
  });

  test('a stop that fails is logged and thrown, and the others are still stopped', async () => {
    const { background, calls, logged, work, failing } = createScene();
    background.use('first', work('first'));
    background.use('sweep', failing('sweep'));
    background.useOutgoing('mirror', failing('mirror'));
    background.useOutgoing('feeds', work('feeds'));
    background.use('last', work('last'));
    const failure: unknown = await background.stop().catch((error: unknown) => error);
    expect(calls).toEqual(['stop mirror', 'stop feeds', 'stop last', 'stop sweep', 'stop first']);
    expect(failure).toBeInstanceOf(SuppressedError);
    expect(failure).toMatchObject({ error: Error('sweep failed'), suppressed: Error('mirror failed') });
    expect(logged).toEqual([
      { message: 'background work failed to stop', work: 'mirror', error: 'Error: mirror failed' },
      { message: 'background work failed to stop', work: 'sweep', error: 'Error: sweep failed' },
    ]);
  });

  test('a stop that throws at once is a failure like any other', async () => {
    const { background, calls, work } = createScene();
    background.use('first', work('first'));
    background.useOutgoing('mirror', {
      stop() {
        throw new Error('no');
      },
    });
    background.useOutgoing('feeds', work('feeds'));
    await expect(background.stop()).rejects.toThrow('no');
    expect(calls).toEqual(['stop feeds', 'stop first']);
  });

  test('a second stop does nothing', async () => {
    const { background, calls, work } = createScene();
    background.use('once', work('once'));
    await background.stop();
    await background.stop();
    expect(calls).toEqual(['stop once']);
  });
});
