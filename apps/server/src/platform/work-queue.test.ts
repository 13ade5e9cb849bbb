import { expect, test } from 'vitest';
import { Refusal } from './http/refusal.ts';
import { createWorkQueue } from './work-queue.ts';

function blocked() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test('work past the concurrency waits in order; past the queue it is 503 with a jittered Retry-After', async () => {
  let jitter = 0;
  const inTurn = createWorkQueue({
    ...{ running: 1, waiting: 2, what: 'logins' },
    random: () => Buffer.from([jitter++]),
  });
  const first = blocked();
  const order: number[] = [];
  const running = inTurn(async () => {
    await first.work();
    order.push(0);
  });
  const waiting = [1, 2].map((n) => inTurn(async () => order.push(n)));
  const refusals = await Promise.all(
    [0, 1].map(() => inTurn(async () => {}).catch((error: unknown) => error)),
  );
  for (const refusal of refusals) expect(refusal).toBeInstanceOf(Refusal);
  expect(refusals).toMatchObject([
    { code: 'unavailable', members: { retryAfterSeconds: 5 } },
    { code: 'unavailable', members: { retryAfterSeconds: 6 } },
  ]);
  expect(order).toEqual([]);
  first.end();
  await Promise.all([running, ...waiting]);
  expect(order).toEqual([0, 1, 2]);
});

test('failed work frees its place', async () => {
  const inTurn = createWorkQueue({ running: 1, waiting: 0, what: 'logins', random: () => Buffer.from([0]) });
  await expect(inTurn(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await inTurn(async () => 'done')).toBe('done');
});

test('queues of two kinds do not delay each other', async () => {
  const options = { running: 1, waiting: 0, random: () => Buffer.from([0]) };
  const logins = createWorkQueue({ ...options, what: 'logins' });
  const others = createWorkQueue({ ...options, what: 'changes of passwords' });
  const flood = blocked();
  const running = logins(flood.work);
  await expect(logins(async () => {})).rejects.toMatchObject({ code: 'unavailable' });
  expect(await others(async () => 'done')).toBe('done');
  flood.end();
  await running;
});
