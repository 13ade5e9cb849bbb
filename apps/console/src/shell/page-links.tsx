import { Link } from '@tanstack/react-router';
import type { Destination } from './navigation.tsx';

/** Links to the pages that the operator may open. */
export function PageLinks({
  destinations,
  onGo,
}: {
  destinations: readonly Destination[];
  /** Called when a link is followed. */
  onGo?: () => void;
}) {
  return (
    <nav aria-label="Pages" className="flex-1 overflow-y-auto px-2">
      {destinations.map(({ to, label, icon }) => (
        <Link
          key={to}
          to={to}
          onClick={onGo}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          className="flex min-h-8 items-center gap-2.5 rounded-md px-2 py-1 text-text no-underline hover:bg-sunken hover:no-underline aria-[current=page]:bg-accent-soft aria-[current=page]:font-semibold aria-[current=page]:text-accent max-md:min-h-10"
        >
          <span aria-hidden="true" className="[&>svg]:size-4">
            {icon}
          </span>
          {label}
        </Link>
      ))}
    </nav>
  );
}
