import type { VulnerabilityPolicyState } from '@tidegate/protocol/vulnerability-policy-api';
import { expect, test } from 'vitest';
import { comparisonOf, effectOf, omittedText } from './policy-rules.ts';

function state(judged: number, not_judged: number): VulnerabilityPolicyState {
  const stopped = { any: Math.min(judged, 64), introduced: 0 };
  return {
    ...{ policy: 'any', set_by: 'default', changed_at: null, changed_by: null },
    open: { judged, not_judged, stopped },
  };
}

test('each choice names what it would stop of the judged updates', () => {
  expect(effectOf('any', state(117, 0))).toBe('Stops 64 of 117 open updates of this fleet.');
  expect(effectOf('introduced', state(117, 0))).toBe('Stops 0 of 117 open updates of this fleet.');
});

test('both choices are compared in one sentence', () => {
  expect(comparisonOf(state(117, 0))).toBe('To the letter: 64 of 117 stopped; introduced only: 0.');
  expect(comparisonOf(state(0, 12))).toBeNull();
});

test('before anything is judged there is no number, and never "stops 0"', () => {
  expect(effectOf('any', state(0, 12))).toBeNull();
});

test.each([
  [0, 0, 'There are no open updates yet. The numbers appear with the first hosts.'],
  [9, 0, 'All open updates are counted.'],
  [9, 1, '1 more is not judged yet and not counted.'],
  [0, 1_200, '1,200 are not judged yet and not counted.'],
])('%i judged and %i not judged: %s', (judged, notJudged, expected) => {
  expect(omittedText(state(judged, notJudged))).toBe(expected);
});
