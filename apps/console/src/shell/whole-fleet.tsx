import type { ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';

/** Wraps a page about the whole fleet: operators bound to groups see an explanation instead of an error. */
export function WholeFleet({ title, children }: { title: string; children: ReactNode }) {
  const { groups } = useSession();
  if (groups === null) return children;
  return (
    <Page title={title}>
      <section className="rounded-xl border border-line bg-surface">
        <EmptyState title="This is about the whole fleet">
          <NotYours groups={groups} />
        </EmptyState>
      </section>
    </Page>
  );
}

/** Explains that something is hidden, not absent. */
export function NotYours({ groups }: { groups: readonly string[] }) {
  return (
    <p>
      You can only see the hosts of <bdi>{groups.join(', ')}</bdi>, so information about the whole fleet is
      not shown to you. An admin of the whole fleet can look it up, or change what you can see.
    </p>
  );
}
