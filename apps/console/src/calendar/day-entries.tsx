import { Link } from '@tanstack/react-router';
import type { CalendarDay, CalendarEntry, CalendarRun } from '@tidegate/protocol/calendar-api';
import { Check, X } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { oddHours, runText } from './calendar-rules.ts';
import { EntryLine } from './entry-line.tsx';

interface Props {
  readonly day: CalendarDay;
  readonly entries: readonly CalendarEntry[];
  readonly ran: readonly CalendarRun[];
  readonly zone: string;
  readonly onChange: ((entry: CalendarEntry) => void) | null;
}

/** What one day has: its entries, and what ran on it. */
export function DayEntries({ day, entries, ran, zone, onChange }: Props) {
  const hours = oddHours(day);
  return (
    <>
      {hours !== null && (
        <p className="py-1 text-muted">The clocks change: this day has {hours} hours in your time zone.</p>
      )}
      {entries.length + ran.length === 0 && <p className="py-1 text-muted">Nothing.</p>}
      <ul>
        {entries.map((entry) => (
          <EntryLine
            key={`${entry.kind} ${entry.id} ${entry.starts_at} ${entry.zone}`}
            {...{ entry, zone, onChange, date: day.date }}
          />
        ))}
        {ran.map((run) => (
          <RunLine key={run.policy_id ?? ''} run={run} />
        ))}
      </ul>
    </>
  );
}

function RunLine({ run }: { run: CalendarRun }) {
  const isGood = run.failed + run.refused === 0;
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-1 border-t border-line py-2 first:border-t-0">
      <div className="w-32 shrink-0">
        <Badge tone={isGood ? 'good' : 'bad'} icon={isGood ? <Check /> : <X />}>
          ran
        </Badge>
      </div>
      <p className="min-w-0 flex-1 wrap-anywhere">
        {run.policy_id === null ? (
          'Approved by people'
        ) : (
          <Link to="/policies/$id" params={{ id: run.policy_id }}>
            {run.policy_name ?? 'A policy'}
          </Link>
        )}
        : {runText(run)}.
      </p>
    </li>
  );
}
