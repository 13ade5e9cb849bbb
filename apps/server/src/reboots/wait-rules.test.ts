import type { RebootWait } from '@tidegate/protocol/reboots-api';
import { expect, test } from 'vitest';
import { type WaitFacts, waitOf } from './wait-rules.ts';

const FACTS: WaitFacts = {
  ...{
    nowMs: 1_000,
    state: 'queued',
    notBeforeMs: 1_000,
    isOffered: false,
    isOnline: true,
    slot: null,
    verdict: 'free',
  },
};

test.each<[string, Partial<WaitFacts>, RebootWait | null]>([
  ['one that is due', {}, 'turn'],
  ['one with its command', { isOffered: true }, 'fetch'],
  ['one that is tried later', { notBeforeMs: 1_001, isOnline: false, verdict: 'halted' }, 'later'],
  ['one with its command, whatever the pause was', { notBeforeMs: 1_001, isOffered: true }, 'fetch'],
  ['one that is off', { isOnline: false, verdict: 'none_free' }, 'online'],
  ['one of a halted group', { verdict: 'halted' }, 'release'],
  ['one without a free slot', { verdict: 'none_free' }, 'slot'],
  ['one with too few others', { verdict: 'too_few_healthy', isOffered: true }, 'healthy'],
  ['one that has just got its slot', { slot: 'held', verdict: 'none_free' }, null],
  ['one that failed before', { slot: 'failed', isOnline: false, verdict: 'none_free' }, 'release'],
  ['one that runs', { state: 'running', verdict: 'none_free' }, null],
  ['one that has ended', { state: 'failed' }, null],
])('%s', (_, change, expected) => {
  expect(waitOf({ ...FACTS, ...change })).toBe(expected);
});
