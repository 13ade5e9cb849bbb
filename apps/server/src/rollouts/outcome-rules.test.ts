import { describe, expect, test } from 'vitest';
import { type HostFacts, type HostRun, outcomeOf } from './outcome-rules.ts';

const MINUTE_MS = 60_000;
const SENT = 10 * MINUTE_MS;
const ENDED = 20 * MINUTE_MS;
const NOW = 30 * MINUTE_MS;
const run = (status: string, change: Partial<HostRun> = {}): HostRun => {
  const isOver = ['success', 'failed', 'refused', 'interrupted'].includes(status);
  const endedAt = isOver ? ENDED : null;
  return {
    ...{ status, reason: null, sentAtMs: status === 'pending' ? null : SENT, before: 'green' },
    ...{ finishedAtMs: endedAt, endedThereMs: endedAt, ...change },
  };
};
const facts = (change: Partial<HostFacts>): HostFacts => ({
  ...{ runs: [], probes: { state: 'none', atMs: null }, pending: 0, awaited: 0, isOnline: true },
  ...{ deadlineMs: 30 * MINUTE_MS, nowMs: NOW, couldReport: true, ...change },
});
const red = (atMs: number) => ({ state: 'red', atMs }) as const;

describe('a host of a rollout', () => {
  test.each<[string, Partial<HostFacts>, string, string | null]>([
    ['has nothing yet', { pending: 1 }, 'waiting', 'not_approved'],
    ['has nothing yet and does not check in', { pending: 1, isOnline: false }, 'offline', 'not_approved'],
    ['is planning', { awaited: 1 }, 'waiting', null],
    ['has an approval to come', { runs: [run('pending')] }, 'waiting', null],
    ['has one, and does not check in', { runs: [run('pending')], isOnline: false }, 'offline', null],
    ['has it', { runs: [run('sent')] }, 'running', null],
    ['has begun', { runs: [run('running')] }, 'running', null],
    ['has installed', { runs: [run('success')] }, 'installed', null],
    ['has failed', { runs: [run('failed', { reason: 'exit 1' })] }, 'failed', 'exit 1'],
    ['was interrupted', { runs: [run('interrupted')] }, 'failed', null],
    ['failed one of two', { runs: [run('failed'), run('success')] }, 'failed', null],
    ['refused', { runs: [run('refused', { reason: 'host_policy' })] }, 'refused', 'host_policy'],
    ['refused, and installed later', { runs: [run('refused'), run('success')] }, 'installed', null],
    ['installed, and more is to come', { runs: [run('success'), run('pending')] }, 'waiting', null],
    [
      'says nothing until its deadline',
      { runs: [run('sent')], nowMs: SENT + 30 * MINUTE_MS - 1 },
      'running',
      null,
    ],
    [
      'says nothing at its deadline',
      { runs: [run('sent')], nowMs: SENT + 30 * MINUTE_MS },
      'silent',
      'no_report',
    ],
    [
      'was given no time to report since the server listens',
      { runs: [run('sent')], nowMs: SENT + 60 * MINUTE_MS, couldReport: false },
      'running',
      null,
    ],
    ['let it expire', { runs: [run('expired')] }, 'silent', 'no_report'],
    ['let it expire, and has another', { runs: [run('expired'), run('pending')] }, 'waiting', null],
    ['let it expire before it got it', { runs: [run('expired', { sentAtMs: null })] }, 'not_offered', null],
    ['had it withdrawn', { runs: [run('cancelled')], pending: 1 }, 'waiting', 'not_approved'],
    ['turned red since', { runs: [run('success')], probes: red(ENDED) }, 'probe_failed', 'probes_red'],
    ['was red before it installed', { runs: [run('success')], probes: red(ENDED - 1) }, 'installed', null],
    [
      'turned red by its own clock, an hour behind',
      {
        runs: [run('success', { endedThereMs: ENDED - 60 * MINUTE_MS })],
        probes: red(ENDED - 59 * MINUTE_MS),
      },
      'probe_failed',
      'probes_red',
    ],
    ['was unfit', { runs: [run('success', { before: 'red' })], probes: red(ENDED) }, 'unfit', null],
    ['was of unknown fitness', { runs: [run('success', { before: 'unknown' })] }, 'installed', null],
    ['offers nothing of it any more', {}, 'not_offered', null],
  ])('%s', (_, change, outcome, reason) => {
    expect(outcomeOf(facts(change))).toMatchObject({ outcome, reason });
  });

  test('keeps the times of its run', () => {
    const there = ENDED - 60 * MINUTE_MS;
    expect(outcomeOf(facts({ runs: [run('success', { endedThereMs: there })] }))).toMatchObject({
      ...{ deliveredAtMs: SENT, settledAtMs: ENDED, endedThereMs: there },
    });
    expect(outcomeOf(facts({ runs: [run('sent')] }))).toMatchObject({ settledAtMs: null });
  });
});
