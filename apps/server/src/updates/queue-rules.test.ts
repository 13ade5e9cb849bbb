import { expect, test } from 'vitest';
import { fixedTogether, fixRank, queueRank, type Urgency, worstSeverity } from './queue-rules.ts';

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

const of = (fixes: number | null, severity: string | null, exploited: boolean | null) =>
  fixRank({ fixes, severity, exploited });
const NOT_KNOWN = { fixes: null, severity: null, exploited: null };

test.each([
  [[], NOT_KNOWN],
  [[of(null, null, null)], NOT_KNOWN],
  [[of(0, null, null), of(null, null, null)], NOT_KNOWN],
  [[of(0, null, null)], { ...NOT_KNOWN, fixes: false }],
  [[of(null, null, null), of(1, 'low', null)], { fixes: true, severity: 'low', exploited: null }],
  [[of(1, 'critical', false), of(1, 'high', null)], { fixes: true, severity: 'critical', exploited: null }],
  [[of(1, 'critical', false), of(1, 'unknown', true)], { fixes: true, severity: 'unknown', exploited: true }],
  [[of(2, 'critical', true)], { fixes: true, severity: 'critical', exploited: true }],
])('updates of the ranks %j together fix %j', (ranks, fixed) => {
  const sorted = ranks.toSorted((a, b) => a - b);
  expect(fixedTogether(sorted.at(0) ?? null, sorted.at(-1) ?? null)).toEqual(fixed);
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
