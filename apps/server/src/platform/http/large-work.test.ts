import { expect, test } from 'vitest';
import { createLargeWork } from './large-work.ts';
import { Refusal } from './refusal.ts';

/** Work that ends on command. */
function createPiece() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isUnderWay = false;
  return {
    end: resolve,
    isUnderWay: () => isUnderWay,
    work: async () => {
      isUnderWay = true;
      await promise;
    },
  };
}

function setUp() {
  const large = createLargeWork({
    ...{ what: 'large plans', running: 1, waiting: 2, random: () => Buffer.of(3) },
  });
  const pieces = ['a', 'b', 'c'].map((host) => {
    const piece = createPiece();
    return { ...piece, over: large.admit(host, piece.work) };
  });
  return { large, pieces };
}

const refusalOf = (work: () => void) => {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Refusal ? error : null;
  }
};

test('so many pieces run, so many wait in order, and the next one gets a Retry-After', async () => {
  const { large, pieces } = setUp();
  await Promise.resolve();
  expect(pieces.map((piece) => piece.isUnderWay())).toEqual([true, false, false]);
  const refusal = refusalOf(() => large.demandRoom('d'));
  expect(refusal?.code).toBe('unavailable');
  expect(refusal?.members.retryAfterSeconds).toBe(13);
  await expect(large.admit('d', async () => {})).rejects.toThrow(Refusal);
  pieces[0]?.end();
  await pieces[0]?.over;
  expect(refusalOf(() => large.demandRoom('d'))).toBeNull();
  for (const piece of pieces) {
    piece.end();
    await piece.over;
  }
  expect(pieces.map((piece) => piece.isUnderWay())).toEqual([true, true, true]);
});

test('a host has one piece at a time, and another one after its end, in any way', async () => {
  const large = createLargeWork({
    ...{ what: 'large plans', running: 2, waiting: 2, random: () => Buffer.of(0) },
  });
  const failing = Promise.withResolvers<void>();
  const failed = large.admit('a', () => failing.promise);
  expect(refusalOf(() => large.demandRoom('a'))?.code).toBe('unavailable');
  expect(refusalOf(() => large.demandRoom('b'))).toBeNull();
  failing.reject(new Error('the disk is full'));
  await expect(failed).rejects.toThrow('the disk is full');
  await large.admit('a', async () => {});
});
