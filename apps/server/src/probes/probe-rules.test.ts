import type { ProbeState } from '@tidegate/protocol/probes';
import { describe, expect, test } from 'vitest';
import { EVENT_EVERY_MS, type KeptProbes, mergeReport } from './probe-rules.ts';

const START_MS = Date.parse('2026-11-25T09:00:00Z');

/** Merges reports one after the other, each a minute after the last unless it says otherwise. */
function told(reports: readonly (readonly [ProbeState | 'none', minutes?: number])[]) {
  let kept: KeptProbes | null = null;
  let nowMs = START_MS;
  return reports.map(([state, minutes = 1]) => {
    nowMs += minutes * 60_000;
    const probes = state === 'none' ? [] : [{ name: 'web', state }];
    const merged = mergeReport(kept, { at: new Date(nowMs).toISOString(), probes }, nowMs);
    kept = merged?.kept ?? kept;
    return merged?.told ?? null;
  });
}

describe('events', () => {
  const LATER = EVENT_EVERY_MS / 60_000;
  test.each<[string, Parameters<typeof told>[0], (string | null)[]]>([
    [
      'the change to red, once',
      [['green'], ['red'], ['red', LATER], ['red', LATER]],
      [null, 'red', null, null],
    ],
    ['a first report that is red', [['red']], ['red']],
    ['and back', [['red'], ['green', LATER], ['green', LATER]], ['red', 'recovered', null]],
    ['also when root removed the probes', [['red'], ['none', LATER]], ['red', 'recovered']],
    [
      'unknown neither begins nor ends it',
      [['unknown'], ['red'], ['unknown', LATER], ['red', LATER]],
      [null, 'red', null, null],
    ],
    [
      'a flapping probe tells one event in ten minutes',
      [['red'], ['green'], ['red'], ['green'], ['red']],
      ['red', null, null, null, null],
    ],
    ['what came too soon is told later', [['red'], ['green'], ['green', LATER]], ['red', null, 'recovered']],
  ])('%s', (_, reports, expected) => {
    expect(told(reports)).toEqual(expected);
  });
});

describe('times', () => {
  const at = (minute: number) => new Date(START_MS + minute * 60_000).toISOString();
  const merge = (
    kept: KeptProbes | null,
    minute: number,
    states: Record<string, ProbeState>,
    heard = minute,
  ) =>
    mergeReport(
      kept,
      { at: at(minute), probes: Object.entries(states).map(([name, state]) => ({ name, state })) },
      START_MS + heard * 60_000,
    )?.kept ?? null;

  test('each probe, and all together, keep since when they are in their state', () => {
    const first = merge(null, 1, { db: 'green', web: 'red' });
    const second = merge(first, 2, { db: 'red', web: 'red' });
    expect(second).toMatchObject({
      state: 'red',
      sinceMs: START_MS + 60_000,
      lookedAtMs: START_MS + 120_000,
    });
    expect(second?.probes.map(({ name, sinceMs }) => [name, (sinceMs - START_MS) / 60_000])).toEqual([
      ['db', 2],
      ['web', 1],
    ]);
  });

  test('an older report than the kept one changes nothing', () => {
    const kept = merge(null, 5, { web: 'red' });
    expect(merge(kept, 4, { web: 'green' }, 6)).toBeNull();
    expect(merge(kept, 5, { web: 'green' }, 6)).toMatchObject({ state: 'green' });
  });

  test('a host whose clock is ahead looked when the server heard of it', () => {
    const kept = merge(null, 90, { web: 'green' }, 5);
    expect(kept).toMatchObject({ lookedAtMs: START_MS + 5 * 60_000 });
    expect(merge(kept, 90, { web: 'red' }, 6)).toMatchObject({ state: 'red' });
  });
});
