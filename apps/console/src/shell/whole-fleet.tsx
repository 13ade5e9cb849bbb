import type { ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';

/** A page about the whole fleet: whoever is bound to groups of hosts is told so, in place of being refused by it. */
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

/** Why something is not shown, which is not the same as that there is nothing. */
export function NotYours({ groups }: { groups: readonly string[] }) {
  return (
    <p>
      You are bound to the hosts of {groups.join(', ')}: what concerns every host is not shown to you. An
      admin of the whole fleet can look, or change what you see.
    </p>
  );
}
