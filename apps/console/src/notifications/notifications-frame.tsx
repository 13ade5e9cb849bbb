import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Page } from '../ui/page.tsx';

const TABS = [
  { to: '/notifications', label: 'Channels' },
  { to: '/notifications/rules', label: 'Rules' },
  { to: '/notifications/deliveries', label: 'Deliveries' },
] as const;

/** The frame of the three pages about notices. */
export function NotificationsFrame({
  lead,
  actions,
  children,
}: {
  lead: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Page title="Notifications" lead={lead} actions={actions}>
      <nav aria-label="Notifications" className="mb-4 flex flex-wrap gap-1 border-b border-line">
        {TABS.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: true, includeSearch: false }}
            className="-mb-px border-b-2 border-transparent px-3 py-2 text-muted no-underline hover:text-text hover:no-underline aria-[current=page]:border-accent aria-[current=page]:font-semibold aria-[current=page]:text-accent"
          >
            {label}
          </Link>
        ))}
      </nav>
      {children}
    </Page>
  );
}
