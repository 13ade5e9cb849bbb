import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Hold } from '@tidegate/protocol/holds-api';
import { LockOpen, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { scopeText } from '../policies/policy-rules.ts';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { AddHold } from './add-hold.tsx';
import { HOLDS } from './hold-rules.ts';
import { ReleaseHold } from './release-hold.tsx';

const NO_FILTERS: readonly never[] = [];

/** Packages that stay as they are, and those that did. */
export function HoldsPage() {
  const list = useListSearch(NO_FILTERS);
  const { may } = useSession();
  const isApprover = may('approver');
  const [isAdding, setAdding] = useState(false);
  const [releasing, setReleasing] = useState<Hold | null>(null);
  const columns = useMemo(() => columnsOf(isApprover ? setReleasing : null), [isApprover]);
  const query = useQuery(listQuery<Hold>('updates', HOLDS, list.query));
  return (
    <Page
      title="Holds"
      lead={
        <>
          Packages that <Term of="hold">stay as they are</Term> until a day. No update that would change one
          of them is approved, not even as a dependency of another update.
        </>
      }
      actions={
        isApprover && (
          <Button
            tone="primary"
            onClick={() => setAdding(true)}
            icon={<Plus aria-hidden="true" className="size-4" />}
          >
            Put packages on hold
          </Button>
        )
      }
    >
      <ListTable
        list={list}
        query={query}
        noun="holds"
        empty={
          <EmptyState title="Nothing is on hold" action={<Link to="/packages">See the packages</Link>}>
            Put a package on hold where a new version breaks something, or where a system needs the present
            one.
          </EmptyState>
        }
        label="Holds"
        columns={columns}
        rowId={idOf}
      />
      {isAdding && <AddHold onClose={() => setAdding(false)} />}
      {releasing && <ReleaseHold hold={releasing} onClose={() => setReleasing(null)} />}
    </Page>
  );
}

const idOf = ({ id }: Hold) => id;

function columnsOf(onRelease: ((hold: Hold) => void) | null): readonly Column<Hold>[] {
  const columns: readonly Column<Hold>[] = [
    {
      id: 'packages',
      header: 'Packages',
      cell: ({ packages }) => <span className="font-medium">{packages.join(', ')}</span>,
    },
    { id: 'state', header: 'State', part: 'pinned', folds: true, cell: (hold) => <HoldState hold={hold} /> },
    {
      id: 'ecosystems',
      header: 'Package managers',
      cell: ({ ecosystems }) => ecosystems.map((one) => MANAGERS[one]).join(', '),
    },
    { id: 'scope', header: 'Hosts', folds: true, cell: ({ scope }) => scopeText(scope) },
    {
      id: 'reason',
      header: 'Reason',
      wide: true,
      wraps: true,
      cell: ({ reason }) => <span title={reason}>{reason}</span>,
    },
    {
      id: 'created_by',
      header: 'By',
      cell: ({ created_by: by, created_at: at }) => <ByWhom by={by} at={at} />,
    },
  ];
  if (onRelease === null) return columns;
  const release: Column<Hold> = {
    id: 'release',
    header: 'Actions',
    cell: (hold) =>
      hold.state === 'in_force' && (
        <IconButton
          word="Release"
          label={`Release ${hold.packages.join(', ')}`}
          onClick={() => onRelease(hold)}
        >
          <LockOpen aria-hidden="true" className="size-4" />
        </IconButton>
      ),
  };
  return [...columns, release];
}

function HoldState({ hold: { state, ends_at, ended_at, ended_by } }: { hold: Hold }) {
  switch (state) {
    case 'in_force':
      return (
        <>
          on hold, ends <Time at={ends_at} />
        </>
      );
    case 'expired':
      return (
        <>
          <Badge tone="neutral">ended</Badge> <Time at={ends_at} />
        </>
      );
    case 'released':
      return (
        <>
          <Badge tone="neutral">released</Badge> by <bdi>{ended_by}</bdi> <Time at={ended_at} />
        </>
      );
  }
}
