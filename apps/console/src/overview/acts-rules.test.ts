import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import { expect, test } from 'vitest';
import { actsOf } from './acts-rules.ts';

const AS_OF = '2026-01-01T00:00:00Z';

/** A figure that opens the list of hosts, which is enough for the order. */
const figure = (count: number): Figure => ({ count, as_of: AS_OF, opens: { list: 'agents', filter: {} } });

function overviewOf(
  count: number,
  fleet: Figure | null = figure(count),
): Pick<Overview, 'needs_me' | 'lying' | 'as_of'> {
  const one = figure(count);
  return {
    as_of: AS_OF,
    needs_me: {
      waiting: { clear: one, vulnerable: one, unchecked: one, not_judged: { ...one, opens: null } },
      ...{
        exploited: one,
        critical_fixes: one,
        fixes: one,
        security: one,
        judging_overdue: one,
        stopped: one,
        blocked: one,
        failed: one,
      },
      ...{ approvals_undelivered: one, clones_suspected: one, hosts_unbound: one, hosts_offline: one },
      ...{ lists_stale: one, clocks_wrong: one },
      ...{ divergences_open: fleet, keys_due: fleet, registration_tokens_ending: fleet, dead_letters: fleet },
      backup: null,
    },
    lying: {
      ...{ machine_mismatches: one, token_reuse: one, unchecked: one },
      advisories: { status: 'ok', data_as_of: null, stale: [], missing: [] },
      clock: { ok: true, behind_seconds: 0, as_of: AS_OF },
      restore: { detected_at: null, resync_open: false },
    },
  };
}

test('exploited first, then critical fixes, then others, then what stands still, then hosts that are gone, then housekeeping', () => {
  expect(actsOf(overviewOf(2)).map(({ id }) => id)).toEqual([
    ...['exploited', 'critical', 'fixes', 'security'],
    ...[
      'clones',
      'reuse',
      'mismatches',
      'divergences',
      'stopped',
      'blocked',
      'unchecked',
      'judging_overdue',
      'failed',
      'undelivered',
      'clear',
    ],
    ...['offline', 'unbound', 'lists_stale', 'clocks_wrong'],
    ...['keys', 'tokens', 'dead_letters'],
  ]);
});

test('what is zero, or not for the caller, is not shown', () => {
  expect(actsOf(overviewOf(0))).toEqual([]);
  const bound = actsOf(overviewOf(1, null)).map(({ id }) => id);
  for (const id of ['divergences', 'keys', 'tokens', 'dead_letters']) expect(bound).not.toContain(id);
});

test('one is not many', () => {
  const text = (n: number, wanted: string) => actsOf(overviewOf(n)).find(({ id }) => id === wanted)?.text;
  expect(text(1, 'offline')).toBe('1 host is offline');
  expect(text(1_200, 'offline')).toBe('1,200 hosts are offline');
  expect(text(1, 'lists_stale')).toBe('1 host has package lists older than two days');
  expect(text(1, 'clocks_wrong')).toBe('The clock of 1 host is wrong');
  expect(text(2, 'clocks_wrong')).toBe('The clocks of 2 hosts are wrong');
  expect(text(1, 'fixes')).toBe('1 update fixes known vulnerabilities');
  expect(text(1, 'judging_overdue')).toBe('1 update has not been judged for over an hour');
  expect(text(1, 'blocked')).toBe('1 update was refused when somebody asked for it');
  expect(text(1, 'undelivered')).toBe('1 approved installation has not reached its host');
});

test('data that is old or missing, a wrong clock and an open resync are acts as well', () => {
  const { needs_me, lying, as_of } = overviewOf(0);
  const bad: Overview['lying'] = {
    ...lying,
    advisories: { ...lying.advisories, stale: [{ ecosystem: 'npm', since: AS_OF }], missing: ['Debian:12'] },
    clock: { ok: false, behind_seconds: 90, as_of: AS_OF },
    restore: { detected_at: AS_OF, resync_open: true },
  };
  expect(actsOf({ needs_me, lying: bad, as_of }).map(({ id }) => id)).toEqual([
    ...['stale npm', 'missing Debian:12', 'clock', 'resync'],
  ]);
});

test('no backup is an act once it is due, with how long ago the last one was', () => {
  const { needs_me, ...rest } = overviewOf(0);
  const texts = (taken_at: string | null, due = true) =>
    actsOf({ ...rest, needs_me: { ...needs_me, backup: { taken_at, bytes: null, due } } }).map(
      ({ text }) => text,
    );
  expect(texts('2025-12-22T23:00:00Z')).toEqual(['There is no backup for 9 days']);
  expect(texts(null)).toEqual(['The server was never backed up']);
  expect(texts('2025-12-31T00:00:00Z', false)).toEqual([]);
});
