import { expect, test } from 'vitest';
import { outcomeWithout, worstOf } from './worker-rules.ts';

test.each([
  // Without a failure it is not known yet, whatever the API does.
  ['loading', 'unused', 'pending'],
  ['loading', 'under_way', 'pending'],
  ['loading', 'failed', 'pending'],
  ['changed', 'unused', 'pending'],
  ['changed', 'under_way', 'pending'],
  ['changed', 'failed', 'pending'],
  // Mirror only: it was queried, and has no answer that counts.
  ['absent', 'unused', 'unreachable'],
  ['stale', 'unused', 'unreachable'],
  ['unreadable', 'unused', 'unreachable'],
  // With the API as second source, both must have failed.
  ['absent', 'under_way', 'pending'],
  ['stale', 'under_way', 'pending'],
  ['unreadable', 'under_way', 'pending'],
  ['absent', 'failed', 'unreachable'],
  ['stale', 'failed', 'unreachable'],
  ['unreadable', 'failed', 'unreachable'],
] as const)('a mirror that is %s and an API that is %s: %s', (gap, api, outcome) => {
  expect(outcomeWithout(gap, api)).toBe(outcome);
});

test.each([
  [[], 'judged'],
  [['judged', 'judged'], 'judged'],
  [['judged', 'unreachable'], 'unreachable'],
  [['unreachable', 'pending', 'judged'], 'pending'],
] as const)('%j together are %s', (outcomes, worst) => {
  expect(worstOf(outcomes)).toBe(worst);
});
