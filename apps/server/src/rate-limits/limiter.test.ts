import { createClock } from '@tidegate/testkit/clock';
import { createRandomBytes } from '@tidegate/testkit/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../platform/http/refusal.ts';
import { type Budget, createBudgets, DEFAULT_BUDGETS } from './budgets.ts';
import { createLimiter, enforceLimit, STARTUP_PENALTY_MS, type Taken } from './limiter.ts';

const START_MS = Date.UTC(2026, 0, 1);
const LIMIT_CLASS = 'agent_checkin';

function setUp(budget: Budget, options: { keysMax?: number | undefined; bootedAgoMs?: number } = {}) {
  const clock = createClock(START_MS);
  const budgets = createBudgets({ ...DEFAULT_BUDGETS, [LIMIT_CLASS]: budget });
  const bytes = createRandomBytes('limiter');
  const { keysMax, bootedAgoMs } = { keysMax: 1_000, bootedAgoMs: STARTUP_PENALTY_MS, ...options };
  const limiter = createLimiter({
    now: clock.now,
    bootedAt: START_MS - bootedAgoMs,
    budgets,
    random: (size) => Buffer.from(bytes(size)),
    ...(keysMax !== undefined && { keysMax }),
  });
  const take = (key = 'a'): Taken => limiter.take(LIMIT_CLASS, key);
  return { clock, budgets, limiter, take };
}

function accepted(takes: readonly Taken[]): number {
  return takes.filter((t) => t.ok).length;
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

const steps = fc.array(
  fc.record({
    stepMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_500 })),
    key: fc.nat({ max: 4 }),
  }),
  { minLength: 1, maxLength: 300 },
);

describe('exactness', () => {
  test('agrees with a model that remembers every request, through the start-up penalty and after it', () => {
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 70_000 }),
        (run, requests, windowSeconds, bootedAgoMs) => {
          const { clock, take } = setUp({ requests, windowSeconds, enabled: true }, { bootedAgoMs });
          const log: { key: number; at: number }[] = [];
          for (const { stepMs, key } of run) {
            clock.advance(stepMs);
            const now = clock.now();
            const startup = now - (START_MS - bootedAgoMs) < 60_000;
            const limit = startup ? Math.max(1, Math.floor(requests / 2)) : requests;
            const used = log.filter((r) => r.key === key && r.at > now - windowSeconds * 1_000).length;
            const taken = take(String(key));
            expect(taken).toMatchObject({
              ok: used < limit,
              limit,
              remaining: Math.max(0, limit - used - 1),
            });
            if (taken.ok) log.push({ key, at: now });
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is never over the limit in any window, even with fewer places than keys', () => {
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 3 }),
        (run, requests, keysMax) => {
          const windowSeconds = 3;
          const { clock, take } = setUp({ requests, windowSeconds, enabled: true }, { keysMax });
          const log = new Map<number, number[]>();
          for (const { stepMs, key } of run) {
            clock.advance(stepMs);
            if (take(String(key)).ok) log.set(key, [...(log.get(key) ?? []), clock.now()]);
          }
          for (const at of log.values()) {
            // The fullest window starts with a request.
            for (const first of at) {
              const inside = at.filter((t) => t >= first && t < first + windowSeconds * 1_000);
              expect(inside.length).toBeLessThanOrEqual(requests);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('accepts again exactly one window later, and not a millisecond earlier', () => {
    const { clock, take } = setUp({ requests: 2, windowSeconds: 60, enabled: true });
    expect(accepted(times(5, take))).toBe(2);
    clock.advance(59_999);
    expect(take().ok).toBe(false);
    clock.advance(1);
    expect(accepted(times(5, take))).toBe(2);
  });

  test('a refused request does not count', () => {
    const { clock, take } = setUp({ requests: 1, windowSeconds: 10, enabled: true });
    take();
    for (let i = 0; i < 10; i++) {
      clock.advance(999);
      expect(take().ok).toBe(false);
    }
    clock.advance(10);
    expect(take().ok).toBe(true);
  });

  test('a clock that is set back neither grants requests nor stops the windows', () => {
    const { clock, take } = setUp({ requests: 1, windowSeconds: 60, enabled: true });
    take();
    clock.advance(-3_600_000);
    expect(take().ok).toBe(false);
    clock.advance(59_999);
    expect(take().ok).toBe(false);
    clock.advance(1);
    expect(take().ok).toBe(true);
  });

  test('keeps its promise with budgets that exceed the runs kept per key', () => {
    const { clock, take } = setUp({ requests: 10_000, windowSeconds: 60, enabled: true });
    for (let i = 0; i < 10_000; i++) {
      clock.advance(1);
      expect(take().ok).toBe(true);
    }
    expect(take().ok).toBe(false);
    clock.advance(60_000);
    expect(accepted(times(10_001, take))).toBe(10_000);
  });
});

describe('start-up penalty (section 8, reading 8)', () => {
  test.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [60, 30],
  ])('a budget of %i is %i in the first 60 seconds', (requests, halved) => {
    const { take } = setUp({ requests, windowSeconds: 60, enabled: true }, { bootedAgoMs: 0 });
    expect(accepted(times(100, take))).toBe(halved);
  });

  test('ends exactly at 60 seconds and leaves the stored budget unchanged', () => {
    const { clock, take, limiter, budgets } = setUp(
      { requests: 10, windowSeconds: 3_600, enabled: true },
      { bootedAgoMs: 0 },
    );
    expect(accepted(times(20, take))).toBe(5);
    clock.advance(59_999);
    expect(take().ok).toBe(false);
    expect(limiter.penalty().active).toBe(true);
    clock.advance(1);
    expect(accepted(times(20, take))).toBe(5);
    expect(limiter.penalty()).toEqual({ active: false, endsAtMs: START_MS + 60_000 });
    expect(budgets.of(LIMIT_CLASS).requests).toBe(10);
  });

  test('halves the budget configured at request time', () => {
    const { take, budgets } = setUp({ requests: 10, windowSeconds: 60, enabled: true }, { bootedAgoMs: 0 });
    expect(accepted(times(20, take))).toBe(5);
    budgets.replace({
      ...DEFAULT_BUDGETS,
      [LIMIT_CLASS]: { requests: 20, windowSeconds: 60, enabled: true },
    });
    expect(accepted(times(20, take))).toBe(5);
  });

  test('spreads the retries of a herd over more than 60 seconds', () => {
    const { take } = setUp({ requests: 2, windowSeconds: 60, enabled: true }, { bootedAgoMs: 59_000 });
    take();
    const waits = times(300, take).flatMap((t) => (t.ok ? [] : [t.retryAfterSeconds]));
    expect(Math.min(...waits)).toBeLessThan(10);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(60);
  });
});

describe('keys', () => {
  let key = 0;

  test('each key and each class has its own window', () => {
    const { take, limiter } = setUp({ requests: 1, windowSeconds: 60, enabled: true });
    expect([take('a').ok, take('b').ok, take('a').ok]).toEqual([true, true, false]);
    expect(limiter.take('login', 'a').ok).toBe(true);
  });

  test('keys without a place share one budget, and idle keys free their places', () => {
    const { clock, take } = setUp({ requests: 2, windowSeconds: 60, enabled: true }, { keysMax: 100 });
    for (let i = 0; i < 100; i++) take(`old${i}`);
    let n = 0;
    expect(accepted(times(1_000, () => take(`new${n++}`)))).toBe(2);
    clock.advance(60_000);
    expect(accepted(times(100, () => take(`late${n++}`)))).toBe(100);
  });

  test('every agent of a fleet of 300,000 has its own place; addresses share one past 250,000', () => {
    const { limiter } = setUp({ requests: 1, windowSeconds: 60, enabled: true }, { keysMax: undefined });
    const [agents, addresses] = (['agent_checkin', 'client_errors'] as const).map((limitClass) =>
      accepted(times(300_000, () => limiter.take(limitClass, `${key++}`))),
    );
    expect(agents).toBe(300_000);
    expect(addresses).toBeLessThan(251_000);
  });

  test('a key that gets a place keeps its use of the shared window', () => {
    const { clock, take } = setUp({ requests: 2, windowSeconds: 60, enabled: true }, { keysMax: 1 });
    take('old');
    clock.advance(59_000);
    expect(accepted(times(5, () => take('new')))).toBe(2);
    clock.advance(1_000);
    expect(take('new').ok).toBe(false);
    clock.advance(59_000);
    expect(accepted(times(5, () => take('new')))).toBe(2);
  });
});

describe('answers', () => {
  test('a disabled class limits nothing', () => {
    const { take } = setUp({ requests: 1, windowSeconds: 60, enabled: false });
    expect(accepted(times(100, take))).toBe(100);
  });

  test('a change of the budget applies from the next request on (E5)', () => {
    const { take, budgets } = setUp({ requests: 5, windowSeconds: 60, enabled: true });
    expect(accepted(times(10, take))).toBe(5);
    budgets.replace({ ...DEFAULT_BUDGETS, [LIMIT_CLASS]: { requests: 7, windowSeconds: 60, enabled: true } });
    expect(accepted(times(10, take))).toBe(2);
    budgets.replace({ ...DEFAULT_BUDGETS, [LIMIT_CLASS]: { requests: 3, windowSeconds: 60, enabled: true } });
    expect(take().ok).toBe(false);
  });

  test('the Retry-After of a refusal is never too early', () => {
    const { clock, take } = setUp({ requests: 3, windowSeconds: 60, enabled: true });
    for (let i = 0; i < 3; i++) {
      take();
      clock.advance(5_000);
    }
    const refused = take();
    if (refused.ok) throw new Error('expected a refusal');
    expect(refused.resetSeconds).toBe(45);
    expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(45);
    expect(refused.retryAfterSeconds).toBeLessThanOrEqual(60);
    clock.advance(refused.resetSeconds * 1_000);
    expect(take().ok).toBe(true);
  });

  test('a refusal crosses HTTP as rate_limited with its headers', () => {
    const { limiter, take } = setUp({ requests: 1, windowSeconds: 60, enabled: true });
    take();
    expect(() => enforceLimit(limiter, { limitClass: LIMIT_CLASS, key: 'a' })).toThrow(
      expect.objectContaining({
        code: 'rate_limited',
        members: expect.objectContaining({
          headers: { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
        }),
      }),
    );
    expect(() => enforceLimit(limiter, { limitClass: LIMIT_CLASS, key: 'b' })).not.toThrow(Refusal);
  });
});
