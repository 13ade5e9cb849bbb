import { expect, test } from 'vitest';
import { type Asked, askEach } from './ask-each.ts';

test('the hosts are asked in turn, and a refusal is kept with its reason', async () => {
  const told: Asked[] = [];
  const asked = await askEach(['a', 'b', 'c'], {
    act: async (id) => {
      if (id === 'b') throw new Error('The agent is revoked.');
    },
    signal: new AbortController().signal,
    onProgress: (progress) => told.push(progress),
  });
  expect(asked).toEqual({ done: 3, refused: [{ id: 'b', why: 'The agent is revoked.' }] });
  expect(told.map(({ done }) => done)).toEqual([1, 2, 3]);
});

test('no host is asked after the batch was stopped', async () => {
  const aborting = new AbortController();
  const seen: string[] = [];
  const asked = await askEach(['a', 'b', 'c'], {
    act: async (id) => {
      seen.push(id);
      aborting.abort();
    },
    signal: aborting.signal,
    onProgress: () => undefined,
  });
  expect([seen, asked.done]).toEqual([['a'], 1]);
});
