import { Link } from '@tanstack/react-router';
import type { UrlFilter } from './filter-rules.ts';

const PAGES = [
  { to: '/updates', label: 'Each update' },
  { to: '/packages', label: 'By package' },
] as const;

/** The same updates one by one or by package, under one filter. */
export function Grouping({ filter }: { filter: UrlFilter }) {
  return (
    <nav aria-label="Grouping" className="inline-flex rounded-md border border-line">
      {PAGES.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          search={filter}
          activeOptions={{ includeSearch: false }}
          activeProps={{ className: 'bg-accent-soft font-medium text-accent' }}
          inactiveProps={{ className: 'text-muted hover:text-text' }}
          className="inline-flex min-h-8 items-center px-2.5 first:rounded-l-md last:rounded-r-md"
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
