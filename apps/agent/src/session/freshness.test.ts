import { expect, test } from 'vitest';
import { timestamp } from '../platform/clock.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { staleAfterMs, watchFreshness } from './freshness.ts';

const MINUTE = 60_000;
const at = (ms: number) => timestamp(NOW_MS + ms);
const clock = (lastServerTime: string | null) => ({ lastServerTime, nowMs: NOW_MS });

function watched() {
  const time = { ms: 0 };
  return { time, freshness: watchFreshness(() => time.ms) };
}

test("the bound is three intervals, but at least the server's signing interval", () => {
  expect([staleAfterMs(MINUTE), staleAfterMs(1_000)]).toEqual([3 * MINUTE, 30_000]);
});

test('silence past the bound is logged once, and is one event when contact is restored (T12)', () => {
  const { time, freshness } = watched();
  freshness.take(at(0), clock(null));
  time.ms = 3 * MINUTE;
  expect(freshness.noticeSilence(MINUTE)).toBeNull();
  time.ms += 1;
  expect(freshness.noticeSilence(MINUTE)).toBe(3 * MINUTE + 1);
  expect(freshness.noticeSilence(MINUTE)).toBeNull();
  time.ms = 10 * MINUTE;
  expect(freshness.take(at(10 * MINUTE), clock(at(0)))).toMatchObject({
    type: 'AGENT_ERROR',
    details: { check: 'state_stale', silent_seconds: 600, last_server_time: at(0) },
  });
  expect(freshness.take(at(11 * MINUTE), clock(at(10 * MINUTE)))).toBeNull();
});

test('a replayed state does not count as contact (T12)', () => {
  const { time, freshness } = watched();
  freshness.take(at(0), clock(null));
  for (let minute = 1; minute <= 3; minute += 1) {
    time.ms = minute * MINUTE;
    freshness.take(at(0), clock(at(0)));
    expect(freshness.noticeSilence(MINUTE)).toBeNull();
  }
  time.ms = 4 * MINUTE;
  expect(freshness.noticeSilence(MINUTE)).not.toBeNull();
});

test('a short outage is no event, and neither is the time before the start', () => {
  const { time, freshness } = watched();
  expect(freshness.take(at(0), clock(at(-1_000 * MINUTE)))).toBeNull();
  time.ms = 2 * MINUTE;
  expect(freshness.noticeSilence(MINUTE)).toBeNull();
  expect(freshness.take(at(2 * MINUTE), clock(at(0)))).toBeNull();
});
