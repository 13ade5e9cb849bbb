import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Overview } from '@tidegate/protocol/overview-api';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { EmptyState } from '../ui/states.tsx';

/** A list without updates. Where no host has joined, it says that, and not that nothing waits. */
export function NoUpdates({ title, children }: { title: string; children: ReactNode }) {
  const { data } = useQuery(oneQuery<Overview>('overview', '/api/v1/overview'));
  if (data?.totals.hosts.count === 0) {
    return (
      <EmptyState title="No host has joined yet" action={<Link to="/enrolment">Add hosts</Link>}>
        Which updates there are is not known before a host has joined and scanned.
      </EmptyState>
    );
  }
  return (
    <EmptyState title={title} action={<Link to="/hosts">See the hosts</Link>}>
      {children}
    </EmptyState>
  );
}
