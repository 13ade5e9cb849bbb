import { useQuery } from '@tanstack/react-query';
import type { Blackout } from '@tidegate/protocol/blackouts-api';
import type { CalendarEntry } from '@tidegate/protocol/calendar-api';
import type { Hold } from '@tidegate/protocol/holds-api';
import type { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { EndBlackout } from '../blackouts/blackout-forms.tsx';
import { BLACKOUTS } from '../blackouts/blackout-rules.ts';
import { HOLDS } from '../holds/hold-rules.ts';
import { ReleaseHold } from '../holds/release-hold.tsx';
import { POLICIES } from '../policies/policy-rules.ts';
import { PublishPolicy } from '../policies/publish-policy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';

/** The form in which what an entry stands for is changed: the one that its own page has. */
export function ChangeEntry({ entry: { kind, id }, onClose }: { entry: CalendarEntry; onClose: () => void }) {
  switch (kind) {
    case 'window':
    case 'policy_ends':
      return (
        <Loaded<PolicyDetail> path={`${POLICIES}/${id}`} onClose={onClose}>
          {(policy) => <PublishPolicy {...{ policy, onClose }} onPublished={() => undefined} />}
        </Loaded>
      );
    case 'blackout':
      return (
        <Loaded<Blackout> path={`${BLACKOUTS}/${id}`} onClose={onClose}>
          {(blackout) => <EndBlackout {...{ blackout, onClose }} />}
        </Loaded>
      );
    case 'hold_ends':
      return (
        <Loaded<Hold> path={`${HOLDS}/${id}`} onClose={onClose}>
          {(hold) => <ReleaseHold {...{ hold, onClose }} />}
        </Loaded>
      );
    case 'approvals_begin':
    case 'approvals_expire':
      return null;
  }
}

function Loaded<T>(props: { path: string; onClose: () => void; children: (loaded: T) => ReactNode }) {
  const { path, onClose, children } = props;
  // As it was when the form was opened: a change by somebody else is refused, not overwritten.
  const { data, error, refetch } = useQuery({
    ...oneQuery<T>('updates', path),
    staleTime: Infinity,
    gcTime: 0,
  });
  if (data !== undefined) return children(data);
  return (
    <Dialog title="Change" onClose={onClose}>
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />}
    </Dialog>
  );
}
