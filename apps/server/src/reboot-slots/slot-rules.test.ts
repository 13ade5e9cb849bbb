import { expect, test } from 'vitest';
import { judgeSlot, type Limits, type SlotVerdict } from './slot-rules.ts';

const limits = (maxAtOnce: number, minHealthy: number, haltAfter: number): Limits => ({
  ...{ maxAtOnce, minHealthy, haltAfter },
});

test.each<[string, Limits, number, number, number, SlotVerdict]>([
  ['nobody is down', limits(1, 0, 2), 0, 0, 0, 'free'],
  ['one is down and one may be', limits(1, 0, 2), 1, 0, 9, 'none_free'],
  ['one is down and two may be', limits(2, 0, 2), 1, 0, 9, 'free'],
  ['one that failed still counts', limits(1, 0, 2), 1, 1, 9, 'none_free'],
  ['one failed, two halt', limits(3, 0, 2), 1, 1, 9, 'free'],
  ['two failed, two halt', limits(9, 0, 2), 2, 2, 9, 'halted'],
  ['halted comes before everything else', limits(1, 9, 1), 1, 1, 0, 'halted'],
  ['as many are well as must be', limits(2, 3, 2), 0, 0, 3, 'free'],
  ['one fewer is well', limits(2, 3, 2), 0, 0, 2, 'too_few_healthy'],
])('%s: %j, %i open, %i failed, %i others well: %s', (_, rule, open, failed, healthyOthers, expected) => {
  expect(judgeSlot(rule, { counts: { open, failed }, healthyOthers })).toBe(expected);
});
