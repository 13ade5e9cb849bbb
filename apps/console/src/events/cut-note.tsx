import { Link } from '@tanstack/react-router';
import { cutOf } from './cut-rules.ts';
import type { EventItem } from './event-item.ts';

/** An event names at most so many updates, and one of a bulk approval leads to what was approved. */
export function CutNote({ event: { id, type, content } }: { event: EventItem }) {
  const cut = cutOf(content);
  const isBulk = type === 'bulk_approval_asked';
  if (cut === null && !isBulk) return null;
  return (
    <p className="mb-1">
      {cut &&
        `Listed below are the first ${cut.listed.toLocaleString('en')} of ${cut.total.toLocaleString('en')} updates. `}
      {isBulk && (
        <Link to="/commands" search={{ bulk_id: id }}>
          All commands of this approval
        </Link>
      )}
    </p>
  );
}
