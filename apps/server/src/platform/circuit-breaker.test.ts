import { expect, test } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  isFailing,
  mayCall,
} from './circuit-breaker.ts';

function failed(times: number, nowMs = 1_000): Breaker {
  let breaker = CLOSED_BREAKER;
  for (let i = 0; i < times; i++) breaker = afterFailure(breaker, nowMs);
  return breaker;
}

test.each([
  ['never failed', 0, 0, false, true],
  ['four failures', 4, 0, false, true],
  ['five failures, at once', 5, 0, false, false],
  ['five failures, a second later', 5, 1_000, false, true],
  ['eight failures, two seconds later', 8, 2_000, false, false],
  ['eight failures, two seconds later, for an operator', 8, 2_000, true, true],
  ['fifty failures, under a minute', 50, 59_999, false, false],
  ['fifty failures, a minute', 50, 60_000, false, true],
  ['fifty failures and a clock set back', 50, -1, false, true],
])('%s: the pause grows and is bounded', (_what, failures, laterMs, urgent, expected) => {
  expect(mayCall(failed(failures), { nowMs: 1_000 + laterMs, urgent })).toBe(expected);
});

test('a success closes the breaker and ends the failure state', () => {
  expect(isFailing(CLOSED_BREAKER)).toBe(false);
  expect(isFailing(failed(1))).toBe(true);
  const breaker = afterSuccess(2_000);
  expect(isFailing(breaker)).toBe(false);
  expect(mayCall(breaker, { nowMs: 2_000, urgent: false })).toBe(true);
});
