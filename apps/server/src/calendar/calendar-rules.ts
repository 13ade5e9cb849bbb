import type { CalendarEntry, CalendarRun } from '@tidegate/protocol/calendar-api';
import { rfc3339 } from '../platform/clock.ts';
import { RUN_SLOT_MS } from '../policies/run-slots.ts';
import { CLOCK_SKEW_MS } from '../windows/schedule-rules.ts';
import type { AgendaEntry } from './agenda.ts';
import type { ZonedDay } from './day-rules.ts';
import type { DueSlot } from './due-store.ts';

/** The end of something, as a moment of the calendar. */
export interface Ending {
  readonly kind: 'policy_ends' | 'hold_ends';
  readonly id: string;
  readonly name: string;
  readonly atMs: number;
  readonly live: boolean;
}

/** `withheld`: how many commands each blackout withholds now. */
export function agendaEntry(
  { kind, id, name, zone, actions, startMs, endMs }: AgendaEntry,
  of: { live: ReadonlySet<string>; withheld: ReadonlyMap<string, number>; nowMs: number },
): CalendarEntry {
  const isNow = startMs <= of.nowMs + CLOCK_SKEW_MS && of.nowMs < endMs;
  const count = kind === 'blackout' && isNow ? (of.withheld.get(id) ?? null) : null;
  return {
    kind,
    id,
    name,
    zone,
    ...span(startMs, endMs),
    live: of.live.has(id),
    actions: [...actions],
    count,
  };
}

export function endingEntry({ kind, id, name, atMs, live }: Ending): CalendarEntry {
  return { kind, id, name, zone: null, ...span(atMs, atMs), live, actions: [], count: null };
}

/** One entry for each day that has some: a schedule does not say more about approvals than their day. */
export function dueEntries(
  kind: 'approvals_begin' | 'approvals_expire',
  slots: readonly DueSlot[],
  days: readonly ZonedDay[],
): CalendarEntry[] {
  return days.flatMap(({ startMs, endMs }) => {
    const own = slots.filter(({ slot }) => slot * RUN_SLOT_MS >= startMs && slot * RUN_SLOT_MS < endMs);
    const [first, last] = [own[0], own.at(-1)];
    if (!first || !last) return [];
    const count = own.reduce((sum, { approvals }) => sum + approvals, 0);
    const at = span(first.slot * RUN_SLOT_MS, Math.min((last.slot + 1) * RUN_SLOT_MS, endMs));
    return [{ kind, id: null, name: '', zone: null, ...at, live: false, actions: [], count }];
  });
}

function span(startMs: number, endMs: number): Pick<CalendarEntry, 'starts_at' | 'ends_at'> {
  return { starts_at: rfc3339(startMs), ends_at: rfc3339(endMs) };
}

/** What ran on one day, of every policy that did something, and of people. */
export function runsOfDay(
  date: string,
  given: {
    ended: readonly { policy_id: string; installed: number; failed: number; refused: number }[];
    approved: ReadonlyMap<string, number>;
    names: ReadonlyMap<string, string>;
  },
): CalendarRun[] {
  const { ended, approved, names } = given;
  const byPolicy = new Map(ended.map((row) => [row.policy_id, row]));
  const ids = [...new Set([...byPolicy.keys(), ...approved.keys()])];
  return ids.map((id) => {
    const { installed = 0, failed = 0, refused = 0 } = byPolicy.get(id) ?? {};
    const isPolicy = id !== '';
    return {
      date,
      policy_id: isPolicy ? id : null,
      policy_name: isPolicy ? (names.get(id) ?? null) : null,
      approved: isPolicy ? (approved.get(id) ?? 0) : null,
      ...{ installed, failed, refused },
    };
  });
}
