import { expect, test } from 'vitest';
import { fixRank, queueRank, type Urgency, worstSeverity } from './queue-rules.ts';

const urgency = (knownExploited: boolean | null, epss: number | null, severity: string | null): Urgency => ({
  ...{ knownExploited, epss, severity },
});

test('the queue is ordered by exploitation, then by likelihood, then by severity; unknown comes last', () => {
  const mostUrgentFirst = [
    urgency(true, 1, 'critical'),
    urgency(true, 0, 'low'),
    urgency(true, null, null),
    urgency(false, 1, null),
    urgency(null, 0.90001, 'low'),
    urgency(false, 0.9, 'critical'),
    urgency(false, 0, 'none'),
    urgency(null, null, 'critical'),
    urgency(false, null, 'high'),
    urgency(null, null, 'medium'),
    urgency(null, null, 'low'),
    urgency(null, null, 'none'),
    urgency(null, null, 'unknown'),
    urgency(false, null, null),
  ];
  const ranks = mostUrgentFirst.map(queueRank).map((rank) => rank ?? -1);
  expect(ranks).toEqual(ranks.toSorted((a, b) => b - a));
  expect(new Set(ranks).size).toBe(ranks.length);
  expect(Math.min(...ranks)).toBeGreaterThanOrEqual(0);
  expect(queueRank(urgency(null, null, null))).toBeNull();
});

test.each([
  [{ fixes: 2, severity: 'low', exploited: true }, 13],
  [{ fixes: 1, severity: 'unknown', exploited: true }, 11],
  [{ fixes: 1, severity: 'critical', exploited: false }, 6],
  [{ fixes: 1, severity: 'critical', exploited: null }, 6],
  [{ fixes: 1, severity: 'unknown', exploited: null }, 1],
  [{ fixes: 0, severity: null, exploited: null }, 0],
  [{ fixes: null, severity: null, exploited: null }, -1],
])('of fixes the exploited ones are the most urgent, then the most severe: %j has rank %s', (worst, rank) => {
  expect(fixRank(worst)).toBe(rank);
});

test.each([
  [[], null],
  [[null], 'unknown'],
  [[undefined, 'none'], 'none'],
  [['low', 'critical', null, 'high'], 'critical'],
  [['of another kind'], 'unknown'],
] as const)('the worst of %j is %s', (severities, worst) => {
  expect(worstSeverity(severities)).toBe(worst);
});
