import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Blackout } from '@tidegate/protocol/blackouts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleStop, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { scopeText } from '../policies/policy-rules.ts';
import { ownZone } from '../policies/window-times.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { AddBlackout, EndBlackout } from './blackout-forms.tsx';
import { BLACKOUTS, timesText } from './blackout-rules.ts';

const NO_FILTERS: readonly never[] = [];

/** Times in which hosts are not changed: now, later and before. */
export function BlackoutsPage() {
  const list = useListSearch(NO_FILTERS);
  const { may } = useSession();
  const isApprover = may('approver');
  const [isAdding, setAdding] = useState(false);
  const [ending, setEnding] = useState<Blackout | null>(null);
  const columns = useMemo(() => columnsOf(isApprover ? setEnding : null), [isApprover]);
  const query = useQuery(listQuery<Blackout>('updates', BLACKOUTS, list.query));
  return (
    <Page
      title="Blackouts"
      lead={
        <>
          <Term of="blackout">Times in which hosts are not changed</Term>, whoever approved the change. They
          come before every window and policy.
        </>
      }
      actions={
        isApprover && (
          <Button
            tone="primary"
            onClick={() => setAdding(true)}
            icon={<Plus aria-hidden="true" className="size-4" />}
          >
            Plan a blackout
          </Button>
        )
      }
    >
      <ListTable
        list={list}
        query={query}
        noun="blackouts"
        empty={
          <EmptyState title="No blackouts" action={<Link to="/policies">See the policies</Link>}>
            Plan one before a season, an audit or a move. Hosts are still scanned and judged meanwhile.
          </EmptyState>
        }
        label="Blackouts"
        columns={columns}
        rowId={idOf}
      />
      {isAdding && <AddBlackout onClose={() => setAdding(false)} />}
      {ending && <EndBlackout blackout={ending} onClose={() => setEnding(null)} />}
    </Page>
  );
}

const idOf = ({ id }: Blackout) => id;

function columnsOf(onEnd: ((blackout: Blackout) => void) | null): readonly Column<Blackout>[] {
  const columns: readonly Column<Blackout>[] = [
    { id: 'name', header: 'Name', cell: ({ name }) => <span className="font-medium">{name}</span> },
    {
      id: 'state',
      header: 'State',
      folds: true,
      part: 'pinned',
      cell: (blackout) => <BlackoutState blackout={blackout} />,
    },
    { id: 'scope', header: 'Hosts', folds: true, cell: ({ scope }) => scopeText(scope) },
    {
      id: 'times',
      header: 'When',
      wide: true,
      wraps: true,
      cell: (blackout) => timesText(blackout, ownZone()),
    },
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
  if (onEnd === null) return columns;
  const end: Column<Blackout> = {
    id: 'end',
    header: 'Actions',
    cell: (blackout) =>
      (blackout.state === 'active' || blackout.state === 'upcoming') && (
        <IconButton word="End" label={`End ${isolated(blackout.name)}`} onClick={() => onEnd(blackout)}>
          <CircleStop aria-hidden="true" className="size-4" />
        </IconButton>
      ),
  };
  return [...columns, end];
}

function BlackoutState({ blackout: { state, active, next, ended_at, ended_by } }: { blackout: Blackout }) {
  switch (state) {
    case 'active':
      return (
        <>
          <Badge tone="warn">withholds</Badge> ends <Time at={active?.ends_at ?? null} />
        </>
      );
    case 'upcoming':
      return (
        <>
          begins <Time at={next[0]?.starts_at ?? null} />
        </>
      );
    case 'over':
      return <Badge tone="neutral">over</Badge>;
    case 'ended':
      return (
        <>
          <Badge tone="neutral">ended</Badge> by <bdi>{ended_by}</bdi> <Time at={ended_at} />
        </>
      );
  }
}
