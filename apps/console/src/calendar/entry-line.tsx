import { Link } from '@tanstack/react-router';
import type { CalendarEntry } from '@tidegate/protocol/calendar-api';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { ReactNode } from 'react';
import { actionsText } from '../policies/schedule-rules.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { LOOKS } from './entry-looks.tsx';
import { otherZone, placeOf, spanText, subjectOf } from './entry-rules.ts';

/** What changing it is called; only live entries can be changed. */
const CHANGE_WORDS: Readonly<Partial<Record<CalendarEntry['kind'], string>>> = {
  window: 'Change',
  policy_ends: 'Change',
  blackout: 'End',
  hold_ends: 'Release',
};

/** One entry with its times in both zones, where it leads, and how it is changed. */
export function EntryLine({
  entry,
  date,
  zone,
  onChange,
}: {
  entry: CalendarEntry;
  /** The day under which it stands. */
  date: string;
  /** The reader's. */
  zone: string;
  /** Null: the reader may change nothing. */
  onChange: ((entry: CalendarEntry) => void) | null;
}) {
  const { tone, icon, word } = LOOKS[entry.kind];
  const change = CHANGE_WORDS[entry.kind];
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-1 border-t border-line py-2 first:border-t-0">
      <div className="w-32 shrink-0">
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
      </div>
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium wrap-anywhere">
          <Subject entry={entry} />
        </p>
        {entry.count !== null && entry.kind === 'blackout' && (
          <p className="text-muted">{counted(entry.count, 'command')} withheld now</p>
        )}
        {entry.actions.length > 0 && <p className="text-muted">{actionsText(entry.actions)}</p>}
        {entry.kind === 'approvals_begin' && <p className="text-muted">that no host was given yet</p>}
        {entry.kind === 'approvals_expire' && (
          <p className="text-muted">unless their hosts are given them before</p>
        )}
      </div>
      <Times entry={entry} date={date} zone={zone} />
      {onChange && (
        <div className="w-24 text-right max-sm:text-left">
          {entry.live && change !== undefined && (
            <Button onClick={() => onChange(entry)} aria-label={`${change} ${isolated(entry.name)}`}>
              {change}…
            </Button>
          )}
        </div>
      )}
    </li>
  );
}

function Times({ entry, date, zone }: { entry: CalendarEntry; date: string; zone: string }) {
  const other = otherZone(entry);
  const own = spanText(entry, zone, date) ?? `${entry.starts_at} to ${entry.ends_at}`;
  const theirs = spanText(entry, other, date);
  return (
    <dl className="grid basis-80 grid-cols-[6rem_1fr] gap-x-2 tabular-nums">
      <Zone name={zone} means="yours">
        {own}
      </Zone>
      {other !== zone && (
        <Zone name={other} means={entry.zone === null ? 'no schedule' : 'of the schedule'}>
          {theirs ?? 'this browser does not know the zone'}
        </Zone>
      )}
    </dl>
  );
}

function Zone({ name, means, children }: { name: string; means: string; children: ReactNode }) {
  return (
    <>
      <dt className="truncate text-muted" title={`${isolated(name)}, ${means}`}>
        {placeOf(name)}
      </dt>
      <dd>{children}</dd>
    </>
  );
}

function Subject({ entry }: { entry: CalendarEntry }) {
  const subject = subjectOf(entry);
  const { kind, id } = entry;
  switch (kind) {
    case 'window':
    case 'policy_ends':
      return (
        <Link to="/policies/$id" params={{ id: id ?? '' }}>
          {subject}
        </Link>
      );
    case 'blackout':
      return <Link to="/blackouts">{subject}</Link>;
    case 'hold_ends':
      return <Link to="/holds">{subject}</Link>;
    case 'approvals_begin':
    case 'approvals_expire':
      return (
        <Link to="/commands" search={{ status: 'pending', action: 'install_update' }}>
          {subject}
        </Link>
      );
  }
}
