import { createClock } from '@tidegate/testkit/clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../platform/http/refusal.ts';
import { statesInMemory } from './guess-states.ts';
import { createLoginThrottle, type GuessedBy } from './login-throttle.ts';
import { waitAfter } from './login-throttle-rules.ts';

const HOUR_MS = 3_600_000;
const OWNER: GuessedBy = { kind: 'address', key: 'owner' };

test.each([
  [0, 0],
  [4, 0],
  [5, 5_000],
  [6, 10_000],
  [8, 40_000],
  [12, 640_000],
  [13, 900_000],
  [10_000, 900_000],
])('after %d wrong passwords in a row the next one waits %d ms', (failures, waitMs) => {
  expect(waitAfter(failures)).toBe(waitMs);
});

/** A throttle, and how many guesses it checked. */
function open({ keysMax = 100_000 } = {}) {
  const clock = createClock(Date.UTC(2026, 10, 21, 9));
  const throttle = createLoginThrottle({
    now: clock.now,
    states: statesInMemory({ now: clock.now, keysMax }),
  });
  const looked: number[] = [];
  /** Null when it was checked, else the seconds to wait. */
  const guess = async (by: GuessedBy, isRight = false, name = 'root'): Promise<number | null> => {
    const verify = async () => {
      if (!isRight) looked.push(clock.now());
      return isRight;
    };
    try {
      await throttle.guess({ name, by }, { verify, onTurns: async () => {} });
      return null;
    } catch (error) {
      if (error instanceof Refusal && error.members.retryAfterSeconds) return error.members.retryAfterSeconds;
      throw error;
    }
  };
  return { clock, guess, looked };
}

describe('10,000 addresses that guess at one name for an hour', () => {
  const ADDRESSES = 10_000;

  /** Each address asks once every `everyMs`; returns when the owner, who asks from the 30th minute on, got in. */
  async function attack({ everyMs, heeds }: { everyMs: number; heeds: boolean }) {
    const { clock, guess, looked } = open();
    const dueAt = new Float64Array(ADDRESSES);
    const perSecond = Math.ceil(ADDRESSES / (everyMs / 1_000));
    let next = 0;
    let ownerDueAt = 1_800;
    let ownerInAt: number | null = null;
    for (let second = 0; second < 3_600; second++) {
      for (let n = 0; n < perSecond; n++) {
        const one = next++ % ADDRESSES;
        if (heeds && (dueAt[one] ?? 0) > second) continue;
        const wait = await guess({ kind: 'address', key: `bot ${one}` });
        dueAt[one] = second + (wait ?? 0);
      }
      if (ownerInAt === null && second >= ownerDueAt) {
        const wait = await guess(OWNER, true);
        if (wait === null) ownerInAt = second;
        else ownerDueAt = second + wait;
      }
      clock.advance(1_000);
    }
    return { looked: looked.length, ownerAfter: ownerInAt === null ? null : ownerInAt - 1_800 };
  }

  test('have fewer than 100 passwords checked, and the owner who waits gets in within two minutes', async () => {
    const { looked, ownerAfter } = await attack({ everyMs: 30_000, heeds: false });
    expect(looked).toBeLessThan(100);
    expect(ownerAfter).not.toBeNull();
    expect(ownerAfter).toBeLessThanOrEqual(120);
  });

  test('have no more checked when they obey Retry-After', async () => {
    const { looked } = await attack({ everyMs: 30_000, heeds: true });
    expect(looked).toBeGreaterThan(20);
    expect(looked).toBeLessThan(100);
  });

  test('do not slow down a known device', async () => {
    const { guess } = open();
    for (let n = 0; n < ADDRESSES; n++) await guess({ kind: 'address', key: `bot ${n}` });
    expect(await guess({ kind: 'device', key: 'laptop' }, true)).toBeNull();
  });
});

test('any guessers at any times: fewer than 100 an hour for a name, fewer than 20 for one address', async () => {
  const step = fc.record({
    address: fc.nat({ max: 400 }),
    afterMs: fc.oneof(fc.constant(0), fc.nat({ max: 90_000 })),
    tries: fc.integer({ min: 1, max: 12 }),
    isRight: fc.constant(false),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 250 }), async (steps) => {
      const { clock, guess, looked } = open();
      const of = new Map<number, number[]>();
      for (const { address, afterMs, tries } of steps) {
        clock.advance(afterMs);
        for (let n = 0; n < tries; n++) {
          if ((await guess({ kind: 'address', key: `${address % 40}` })) !== null) continue;
          const times = of.get(address % 40) ?? [];
          of.set(address % 40, [...times, clock.now()]);
        }
      }
      expect(mostInAnHour(looked)).toBeLessThan(100);
      for (const times of of.values()) expect(mostInAnHour(times)).toBeLessThan(20);
    }),
    { numRuns: 60 },
  );
});

function mostInAnHour(times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + HOUR_MS).length));
}

test('the right password costs nothing, however often it is given', async () => {
  const { guess } = open();
  for (let n = 0; n < 500; n++) expect(await guess(OWNER, true)).toBeNull();
});

test('the right password resets the count of wrong ones', async () => {
  const { guess, clock } = open();
  for (let n = 0; n < 5; n++) await guess(OWNER);
  clock.advance(5_000);
  expect(await guess(OWNER, true)).toBeNull();
  for (let n = 0; n < 5; n++) expect(await guess(OWNER)).toBeNull();
  expect(await guess(OWNER)).toBe(5);
});

test('a guess that a busy server did not check does not count', async () => {
  const clock = createClock(0);
  const throttle = createLoginThrottle({ now: clock.now });
  const busy = new Refusal('unavailable', { detail: 'busy' });
  const at = { name: 'root', by: OWNER };
  for (let n = 0; n < 100; n++) {
    const verify = () => Promise.reject(busy);
    await expect(throttle.guess(at, { verify, onTurns: async () => {} })).rejects.toBe(busy);
  }
  const verify = async () => true;
  expect(await throttle.guess(at, { verify, onTurns: async () => {} })).toBe(true);
});

test('a clock that is set back gives no more guesses', async () => {
  const { guess, clock, looked } = open();
  for (let n = 0; n < 30; n++) {
    await guess({ kind: 'address', key: `${n}` });
    clock.advance(-10_000);
  }
  expect(looked.length).toBe(20);
});

test('the memory is bounded, and a flood of names and addresses resets no count', async () => {
  const { guess } = open({ keysMax: 100 });
  for (let n = 0; n < 20; n++) await guess({ kind: 'address', key: `${n}` });
  for (let n = 0; n < 5_000; n++) await guess({ kind: 'address', key: `flood ${n}` }, false, `nobody ${n}`);
  expect(await guess({ kind: 'address', key: 'one more' })).not.toBeNull();
});
