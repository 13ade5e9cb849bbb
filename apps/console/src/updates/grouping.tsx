import { Link } from '@tanstack/react-router';
import type { UrlFilter } from './filter-rules.ts';

const PAGES = [
  { to: '/updates', label: 'Each update' },
  { to: '/packages', label: 'By package' },
  { to: '/updates/by-host', label: 'By host' },
] as const;

/**
 * The same updates one by one, by package or by host, under one filter. By host they are those that are pending; another
 * state waits in the URL for the way back.
 */
export function Grouping({ filter }: { filter: UrlFilter }) {
  const { state, ...others } = filter;
  const byHost = state === 'pending' ? others : filter;
  return (
    <nav aria-label="Grouping" className="inline-flex rounded-md border border-line">
      {PAGES.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          search={to === '/updates/by-host' ? byHost : filter}
          activeOptions={{ includeSearch: false, exact: true }}
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
