import { HEARTBEAT_SLOTS } from '@tidegate/protocol/overview-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HeartbeatFacts, heartbeatsOf, SLOT_MS } from './heartbeat-rules.ts';

const NOW = 1_000_000 * SLOT_MS + SLOT_MS - 1;
const SLOT = 1_000_000;
const ALL = new Set(Array.from({ length: HEARTBEAT_SLOTS }, (_, i) => SLOT - i));

function facts(given: Partial<HeartbeatFacts>): HeartbeatFacts {
  return {
    nowMs: NOW,
    enrolledAtMs: 0,
    intervalSeconds: 60,
    lastSeenMs: NOW,
    beatSlot: SLOT,
    beats: 0,
    lateBeats: 0,
    served: ALL,
    ...given,
  };
}

/** The statuses from `ago` slots ago on. */
function last(ago: number, given: Partial<HeartbeatFacts>): string {
  return heartbeatsOf(facts(given))
    .slice(-ago)
    .map(({ status }) => status)
    .join(' ');
}

describe('the last day of a host', () => {
  test.each([
    ['seen in each', 3, { beats: 0b111 }, 'seen seen seen'],
    ['silent in one', 3, { beats: 0b101 }, 'seen missed seen'],
    ['back from a silence', 3, { beats: 0b101, lateBeats: 0b001 }, 'seen missed late'],
    [
      'silent since the last but one',
      3,
      { beatSlot: SLOT - 1, beats: 0b11, lastSeenMs: NOW - SLOT_MS },
      'seen seen missed',
    ],
    [
      'seen a moment ago, in the previous slot',
      2,
      { nowMs: SLOT * SLOT_MS + 1, beatSlot: SLOT - 1, beats: 1, lastSeenMs: SLOT * SLOT_MS - 60_000 },
      'seen unknown',
    ],
    ['no server in one', 3, { beats: 0b101, served: new Set([SLOT, SLOT - 2]) }, 'seen unknown seen'],
    ['seen in a slot without a recorded server', 1, { beats: 1, served: new Set<number>() }, 'seen'],
    [
      'enrolled in the last but one',
      3,
      { beats: 0b11, enrolledAtMs: (SLOT - 1) * SLOT_MS },
      'unknown seen seen',
    ],
    ['never seen', 2, { beatSlot: null, lastSeenMs: null }, 'missed missed'],
    [
      'checking in once an hour',
      4,
      { intervalSeconds: 3_600, beats: 0b1010, lastSeenMs: NOW - SLOT_MS },
      'seen unknown seen unknown',
    ],
  ])('%s', (_, ago, given, expected) => {
    expect(last(ago, given)).toBe(expected);
  });

  test('of a host that checks in once an hour, a silence of three hours or more is missed', () => {
    const statuses = last(9, { intervalSeconds: 3_600, beats: 2 ** 8, lastSeenMs: 0 }).split(' ');
    expect(statuses).toEqual(['seen', ...Array(6).fill('unknown'), 'missed', 'missed']);
  });

  test('has 48 slots of half an hour, whatever the bits are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        fc.integer({ min: 0, max: 100 }),
        (beats, behind) => {
          const slots = heartbeatsOf(facts({ beats, beatSlot: SLOT - behind }));
          expect(slots.map(({ fromMs }) => fromMs)).toEqual(
            Array.from({ length: HEARTBEAT_SLOTS }, (_, i) => (SLOT - 47 + i) * SLOT_MS),
          );
          const seen = [...beats.toString(2).padStart(48, '0')].slice(Math.min(behind, 48));
          expect(slots.map(({ status }) => status === 'seen')).toEqual(
            [...seen.map((one) => one === '1'), ...Array(48).fill(false)].slice(0, 48),
          );
        },
      ),
    );
  });
});
