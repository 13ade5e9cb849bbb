import {
  CALENDAR_ENTRIES_MAX,
  type Calendar,
  type CalendarEntry,
  type CalendarRun,
} from '@tidegate/protocol/calendar-api';
import { holdOf, holdsEndingIn } from '../holds/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Fresh } from '../platform/keep-fresh.ts';
import type { Platform } from '../platform/platform.ts';
import { runSlotOf } from '../policies/run-slots.ts';
import { type AnyPolicyRow, approvedIn, namesOf } from '../policies/store.ts';
import { agendaOf } from './agenda.ts';
import { agendaEntry, dueEntries, type Ending, endingEntry, runsOfDay } from './calendar-rules.ts';
import type { Due } from './count-due.ts';
import type { ZonedDay } from './day-rules.ts';
import { loadAgenda } from './load-agenda.ts';
import { countedUntil, runsIn } from './runs-store.ts';

/** Ends of holds in one answer: as many as may be in force together. */
const HOLD_ENDS_MAX = 500;
/** Packages that the name of a hold lists. */
const PACKAGES_NAMED = 3;

export interface CalendarMeans {
  readonly platform: Pick<Platform, 'database' | 'now'>;
  readonly due: Pick<Fresh<Due>, 'get'>;
}

/** Everything that these days have: `days` are not empty. */
export async function readCalendar(
  { platform, due }: CalendarMeans,
  { days, zone }: { days: readonly ZonedDay[]; zone: string },
): Promise<Calendar> {
  const db = platform.database.read;
  const nowMs = platform.now();
  const range = { fromMs: days[0]?.startMs ?? nowMs, toMs: days.at(-1)?.endMs ?? nowMs };
  const { begins, expires, withheld } = await due.get();
  const { versions, live, ...agenda } = await loadAgenda(db, { ...range, nowMs });
  const endings = [
    ...policyEnds(versions, { ...range, nowMs }),
    ...(await holdEnds(db, { ...range, nowMs })),
  ];
  const entries: CalendarEntry[] = [
    ...(await agendaOf(agenda, range)).map((one) => agendaEntry(one, { live, withheld, nowMs })),
    ...endings.map(endingEntry),
    ...dueEntries('approvals_begin', begins, days),
    ...dueEntries('approvals_expire', expires, days),
  ].toSorted((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at));
  const untilMs = await countedUntil(db);
  return {
    ...{ as_of: rfc3339(nowMs), zone },
    days: days.map(({ date, startMs, endMs }) => ({
      ...{ date, starts_at: rfc3339(startMs), ends_at: rfc3339(endMs) },
    })),
    entries: entries.slice(0, CALENDAR_ENTRIES_MAX),
    truncated: entries.length > CALENDAR_ENTRIES_MAX,
    always: agenda.policies
      .filter(({ id, windows, untilMs: endMs }) => windows.length === 0 && live.has(id) && endMs > nowMs)
      .map(({ id, name }) => ({ id, name })),
    ran: await runsOf(
      db,
      days.filter(({ startMs }) => startMs <= nowMs),
    ),
    ran_until: untilMs === null ? null : rfc3339(untilMs),
  };
}

interface Asked {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
}

/** Ends of policies, also before their time; a version that another replaced has not ended anything. */
function policyEnds(versions: readonly AnyPolicyRow[], { fromMs, toMs, nowMs }: Asked): Ending[] {
  return versions.flatMap((row) => {
    if (row.end_reason === 'replaced') return [];
    const atMs = Math.min(row.ends_at, row.ended_at ?? Infinity);
    if (atMs < fromMs || atMs >= toMs) return [];
    const live = row.ended_at === null && atMs > nowMs;
    return [{ kind: 'policy_ends', id: row.policy_id, name: row.name, atMs, live }];
  });
}

async function holdEnds(db: Db, { fromMs, toMs, nowMs }: Asked): Promise<Ending[]> {
  const rows = await holdsEndingIn(db, { fromMs, toMs, limit: HOLD_ENDS_MAX });
  return rows.map((row) => {
    const { packages } = holdOf(row);
    const more = packages.length - PACKAGES_NAMED;
    const name = packages.slice(0, PACKAGES_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const atMs = Math.min(row.ends_at, row.ended_at ?? Infinity);
    return { kind: 'hold_ends', id: row.id, name, atMs, live: row.ended_at === null && atMs > nowMs };
  });
}

/** What ran on these days. */
async function runsOf(db: Db, days: readonly ZonedDay[]): Promise<CalendarRun[]> {
  const ran: { date: string; ended: Awaited<ReturnType<typeof runsIn>>; approved: Map<string, number> }[] =
    [];
  for (const { date, startMs, endMs } of days) {
    const slots = { fromSlot: runSlotOf(startMs), toSlot: runSlotOf(endMs) };
    ran.push({ date, ended: await runsIn(db, slots), approved: await approvedIn(db, slots) });
  }
  const ids = ran.flatMap(({ ended, approved }) => [
    ...ended.map((row) => row.policy_id),
    ...approved.keys(),
  ]);
  const names = await namesOf(db, [...new Set(ids)]);
  return ran.flatMap(({ date, ended, approved }) => runsOfDay(date, { ended, approved, names }));
}
