import type { BlackoutTimes } from '@tidegate/protocol/blackouts-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { type Occurrence, occurrences } from '../windows/schedule-rules.ts';

/** Occurrences of one schedule that an agenda names; more say the same again. */
const OF_ONE_MAX = 1_000;

/** One opening of a policy's window, or one blackout. */
export interface AgendaEntry extends Occurrence {
  readonly kind: 'window' | 'blackout';
  /** Of the policy or the blackout. */
  readonly name: string;
}

/** Everything that overlaps the time from `fromMs` to just before `toMs`, in order of the starts. */
export function agendaOf(
  of: {
    policies: readonly { name: string; windows: readonly Schedule[]; endsAtMs: number }[];
    blackouts: readonly { name: string; times: BlackoutTimes }[];
  },
  { fromMs, toMs }: { fromMs: number; toMs: number },
): AgendaEntry[] {
  const windows = of.policies.flatMap(({ name, windows, endsAtMs }) =>
    windows.flatMap((schedule) =>
      occurrences(schedule, { fromMs, toMs: Math.min(toMs, endsAtMs), limit: OF_ONE_MAX }).map(
        (one): AgendaEntry => ({ kind: 'window', name, ...one }),
      ),
    ),
  );
  const blackouts = of.blackouts.flatMap(({ name, times }) =>
    occurrencesOf(times, { fromMs, toMs }).map((one): AgendaEntry => ({ kind: 'blackout', name, ...one })),
  );
  return [...blackouts, ...windows].toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
}

function occurrencesOf(
  times: BlackoutTimes,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Occurrence[] {
  if (times.kind === 'recurring') return occurrences(times.schedule, { fromMs, toMs, limit: OF_ONE_MAX });
  const [startMs, endMs] = [Date.parse(times.starts_at), Date.parse(times.ends_at)];
  return startMs < toMs && endMs > fromMs ? [{ startMs, endMs }] : [];
}
