import { Link } from '@tanstack/react-router';
import type { Calendar } from '@tidegate/protocol/calendar-api';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { KINDS, LOOKS } from './entry-looks.tsx';

/** What the calendar cannot show in its days, and what its colours and shapes mean. */
export function CalendarNotes({ calendar: { always, truncated, ran_until } }: { calendar: Calendar }) {
  return (
    <footer className="space-y-2 border-t border-line px-3 py-2">
      {truncated && (
        <p className="font-medium text-warn">
          There are more entries than fit: only the first are shown. Choose a shorter view.
        </p>
      )}
      {always.length > 0 && (
        <p>
          Policies without a window, which may install at any time:{' '}
          {always.map(({ id, name }, i) => (
            <span key={id}>
              {i > 0 && ', '}
              <Link to="/policies/$id" params={{ id }} className="underline">
                {name}
              </Link>
            </span>
          ))}
          .
        </p>
      )}
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[0.9rem] text-muted">
        {KINDS.map((kind) => (
          <li key={kind} className="inline-flex items-baseline gap-1">
            <Badge tone={LOOKS[kind].tone} icon={LOOKS[kind].icon}>
              {LOOKS[kind].word}
            </Badge>
            {LOOKS[kind].means}
          </li>
        ))}
        <li>
          Installations of the last 100 days are shown, counted <Time at={ran_until} empty="not yet" />.
        </li>
      </ul>
    </footer>
  );
}
