import type { Column } from '../ui/data-table.tsx';
import { EventSeverityBadge } from './event-badges.tsx';
import type { EventItem } from './event-item.ts';
import { EventText } from './event-text.tsx';

/** What happened and how bad it is, in every list of events. */
export const EVENT_COLUMNS: readonly Column<EventItem>[] = [
  {
    id: 'severity',
    header: 'Severity',
    part: 'pinned',
    cell: (event) => <EventSeverityBadge severity={event.severity} />,
  },
  {
    id: 'text',
    header: 'What happened',
    part: 'name',
    wide: true,
    cell: (event) => <EventText event={event} />,
  },
];
