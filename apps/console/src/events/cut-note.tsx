import { Link } from '@tanstack/react-router';
import { cutOf } from './cut-rules.ts';
import type { EventItem } from './event-item.ts';

/** An event names at most so many updates: where the others are. */
export function CutNote({ event: { type, content, created_at: since } }: { event: EventItem }) {
  const cut = cutOf(content);
  if (cut === null) return null;
  return (
    <p className="mb-1">
      Listed below are the first {cut.listed.toLocaleString('en')} of {cut.total.toLocaleString('en')}{' '}
      updates.
      {type === 'bulk_approval_asked' && (
        <>
          {' '}
          All that were approved are among{' '}
          <Link to="/events" search={{ type: 'update_approved', since, sort: 'created_at' }}>
            the approvals since then
          </Link>
          , the earliest first.
        </>
      )}
    </p>
  );
}
