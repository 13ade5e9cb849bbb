import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { listQuery } from '../api/queries.ts';
import { Time } from '../ui/time.tsx';
import type { EventItem } from './event-item.ts';

const NEWEST_REMOVAL = listQuery<EventItem>('events', '/api/v1/events', { type: 'events_pruned', limit: 1 });

/** Where the list ends because older events were removed; nothing while all are there. */
export function RemovedNote() {
  const { data } = useQuery(NEWEST_REMOVAL);
  const removal = data?.items[0];
  const last = lastOf(removal?.content);
  if (removal === undefined || last === null) return null;
  return (
    <p className="mt-4 text-muted">
      Events 1 to {last.toLocaleString('en')} were removed; the last of them{' '}
      <Link to="/events/$id" params={{ id: removal.id }}>
        <Time at={removal.created_at} />
      </Link>
      . Verifying the log, as described below, checks that their removal was signed.
    </p>
  );
}

function lastOf(content: unknown): number | null {
  if (typeof content !== 'object' || content === null || !('to_position' in content)) return null;
  return typeof content.to_position === 'number' ? content.to_position : null;
}
