import { describe, expect, test } from 'vitest';
import { pollMs, reconnectMs, spreadMs } from '../platform/back-off.ts';

/** The waits of a whole fleet against a server of a given capacity, in simulated time. */
const AGENTS = process.env.TIDEGATE_LONG === '1' ? 100_000 : 10_000;
const INTERVAL_MS = 60_000;
const TICK_MS = 100;
const HOUR_MS = 3_600_000;
const HEALTHY_PER_SECOND = (AGENTS * 1_000) / INTERVAL_MS;
/** Requests of a poll with an expired token: the renewal and the check-in. */
const EXPIRED_COST = 2;

interface Scene {
  /** When each agent polls first. */
  firstMs: (random: () => number) => number;
  /** The server answers from then on. */
  upMs: number;
  /** Requests a second that the server serves; above it refuses with Retry-After as ours does. */
  capacityPerSecond: number;
  untilMs: number;
}

function simulate({ firstMs, upMs, capacityPerSecond, untilMs }: Scene) {
  const random = createRandom(20_261_128);
  const ticks = Math.ceil(untilMs / TICK_MS);
  const due: number[][] = Array.from({ length: ticks }, () => []);
  const failures = new Uint32Array(AGENTS);
  const isBack = new Uint8Array(AGENTS);
  const pollsPerSecond = new Uint32Array(Math.ceil(untilMs / 1_000));
  const refusedPerSecond = new Uint32Array(pollsPerSecond.length);
  let backAtMs = 0;
  let back = 0;
  let left = 0;
  const schedule = (agent: number, atMs: number) => due[Math.ceil(atMs / TICK_MS)]?.push(agent);
  for (let agent = 0; agent < AGENTS; agent++) schedule(agent, firstMs(random));
  for (let tick = 0; tick < ticks; tick++) {
    const nowMs = tick * TICK_MS;
    const second = Math.floor(nowMs / 1_000);
    // What comes in one second shares its capacity: the server lets requests wait for so long.
    left = nowMs < upMs ? 0 : Math.min(capacityPerSecond, left + (capacityPerSecond * TICK_MS) / 1_000);
    for (const agent of due[tick] ?? []) {
      pollsPerSecond[second] = (pollsPerSecond[second] ?? 0) + 1;
      const cost = isBack[agent] === 1 ? 1 : EXPIRED_COST;
      if (left >= cost) {
        left -= cost;
        if (isBack[agent] === 0) {
          back++;
          backAtMs = nowMs;
        }
        isBack[agent] = 1;
        failures[agent] = 0;
        // The server spreads the interval, and so does the agent.
        schedule(agent, nowMs + pollMs(pollMs(INTERVAL_MS, random()), random()));
        continue;
      }
      failures[agent] = (failures[agent] ?? 0) + 1;
      if (nowMs >= upMs) refusedPerSecond[second] = (refusedPerSecond[second] ?? 0) + 1;
      const refused = refusedPerSecond.subarray(Math.max(0, second - 59), second + 1);
      const backlogSeconds = refused.reduce((sum, one) => sum + one, 0) / capacityPerSecond;
      const retryAfterMs = nowMs < upMs ? null : (5 + random() * Math.min(180, backlogSeconds)) * 1_000;
      const failed = { failures: failures[agent] ?? 1, intervalMs: INTERVAL_MS, retryAfterMs };
      schedule(agent, nowMs + reconnectMs({ ...failed, random: random() }));
    }
  }
  const most = (fromMs: number, toMs = untilMs) =>
    Math.max(...pollsPerSecond.subarray(Math.floor(fromMs / 1_000), Math.floor(toMs / 1_000)));
  return { back, backAtMs, most, refused: refusedPerSecond.reduce((sum, one) => sum + one, 0) };
}

/** Mulberry32: the same run each time. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe(`${AGENTS} agents`, () => {
  /** By chance a second of a small fleet has a third more polls than the average one. */
  const chance = 1.35;

  test('in an outage of an hour never ask more often than in health, and are back within 4 minutes of its end', () => {
    const upMs = HOUR_MS;
    const { back, backAtMs, most, refused } = simulate({
      firstMs: (random) => random() * INTERVAL_MS,
      ...{ upMs, untilMs: upMs + 600_000, capacityPerSecond: 1.5 * HEALTHY_PER_SECOND },
    });
    expect(most(0, upMs)).toBeLessThan(chance * HEALTHY_PER_SECOND);
    expect(most(300_000, upMs)).toBeLessThan(0.7 * HEALTHY_PER_SECOND);
    expect(most(upMs)).toBeLessThan(chance * HEALTHY_PER_SECOND);
    expect([back, refused]).toEqual([AGENTS, 0]);
    expect(backAtMs - upMs).toBeLessThanOrEqual(240_000);
  });

  test('that start together ask at most 1.6 times as often as in health from the first second on', () => {
    const { back, backAtMs, most, refused } = simulate({
      firstMs: (random) => spreadMs(INTERVAL_MS, random()),
      ...{ upMs: 0, untilMs: 600_000, capacityPerSecond: 2.5 * HEALTHY_PER_SECOND },
    });
    // The end of the first round meets the begin of the second one.
    expect(most(0)).toBeLessThan(1.6 * HEALTHY_PER_SECOND);
    expect([back, refused]).toEqual([AGENTS, 0]);
    expect(backAtMs).toBeLessThanOrEqual(INTERVAL_MS);
  });

  test.each([
    [60_000, 1.5],
    [1_000, 2.5],
  ])(
    'that all come within %d ms are back within 5 minutes, though the server serves only %d times the usual',
    (withinMs, capacity) => {
      const { back, backAtMs, most } = simulate({
        firstMs: (random) => random() * withinMs,
        ...{ upMs: 0, untilMs: 900_000, capacityPerSecond: capacity * HEALTHY_PER_SECOND },
      });
      expect(back).toBe(AGENTS);
      expect(backAtMs).toBeLessThanOrEqual(300_000);
      expect(most(withinMs + 60_000)).toBeLessThan(2.25 * HEALTHY_PER_SECOND);
    },
  );
});
