import { Link } from '@tanstack/react-router';
import { isReported } from '@tidegate/protocol/tags-api';
import { None } from '../ui/none.tsx';

/** Tags as chips, each a link to the hosts that have it. */
export function TagList({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return <None />;
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <Link
          key={tag}
          to="/hosts"
          search={{ tag }}
          title={isReported(tag) ? 'The host says so of itself' : undefined}
          className={`mono inline-block max-w-56 truncate rounded-full border border-line px-2 text-[0.9em] ${isReported(tag) ? 'border-dashed' : 'bg-sunken'}`}
        >
          {tag}
        </Link>
      ))}
    </span>
  );
}
