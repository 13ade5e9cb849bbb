import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Gathering, gather } from './gather.ts';

/** Runs that end when they are told to, and a rest that is over when it is told to be. */
function setUp(options: Partial<Gathering<string>> = {}) {
  const runs: { readonly items: readonly string[]; readonly end: () => void }[] = [];
  const rests: (() => void)[] = [];
  const add = gather<string>({
    ...{ most: 4, inFlightMax: 2, ...options },
    run(items) {
      const { promise, resolve } = Promise.withResolvers<void>();
      runs.push({ items, end: resolve });
      return promise;
    },
  });
  const rest = {
    enough: 3,
    over() {
      const { promise, resolve } = Promise.withResolvers<void>();
      rests.push(resolve);
      return promise;
    },
  };
  return { add, rest, rests, itemsOf: () => runs.map(({ items }) => items.join('')), runs };
}

/** Two turns of the event loop: what is to happen now has happened. */
const settled = async () => {
  await turn();
  await turn();
};

function withRest() {
  const { rest, rests } = setUp();
  return { ...setUp({ rest }), rests };
}

describe('requests that share a run', () => {
  test('those of one turn share one; no more than the most, and no more runs at once than allowed', async () => {
    const { add, itemsOf, runs } = setUp();
    [...'abcdefghijk'].forEach(add);
    await settled();
    expect(itemsOf()).toEqual(['abcd', 'efgh']);
    runs[0]?.end();
    await settled();
    expect(itemsOf()).toEqual(['abcd', 'efgh', 'ijk']);
  });

  test('without a rest those that come one at a time have a run each', async () => {
    const { add, itemsOf } = setUp();
    for (const item of 'ab') {
      add(item);
      await settled();
    }
    expect(itemsOf()).toEqual(['a', 'b']);
  });

  test('with a rest the first does not wait, and those that come until it is over share the next run', async () => {
    const { add, itemsOf, rests, runs } = withRest();
    add('a');
    await settled();
    runs[0]?.end();
    for (const item of 'bc') {
      add(item);
      await settled();
    }
    expect(itemsOf()).toEqual(['a']);
    rests[0]?.();
    await settled();
    expect(itemsOf()).toEqual(['a', 'bc']);
  });

  test('enough of them end the rest early, which then begins no second one', async () => {
    const { add, itemsOf, rests } = withRest();
    for (const item of 'abcd') {
      add(item);
      await settled();
    }
    expect(itemsOf()).toEqual(['a', 'bcd']);
    expect(rests).toHaveLength(1);
  });

  test('after a rest in which none came the next does not wait', async () => {
    const { add, itemsOf, rests } = withRest();
    add('a');
    await settled();
    rests[0]?.();
    await settled();
    add('b');
    await settled();
    expect(itemsOf()).toEqual(['a', 'b']);
    expect(rests).toHaveLength(2);
  });
});
