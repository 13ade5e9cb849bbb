import { useQuery } from '@tanstack/react-query';
import type { Divergence } from '@tidegate/protocol/artifacts-api';
import { CircleCheck, GitFork } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { DecideDialog } from './decide-dialog.tsx';

const PATH = '/api/v1/artifacts/divergences';
const FILTERS = ['open'] as const;

const OPEN_WORDS = { true: 'waits for a decision', false: 'decided' };

/** One name and version that the fleet was told of with different hashes: all of them wait until somebody decides. */
export function DivergencesPage() {
  const list = useListSearch(FILTERS);
  const { may } = useSession();
  const [chosen, setChosen] = useState<Divergence | null>(null);
  const canDecide = may('approver');
  const columns = useMemo(() => columnsOf({ canDecide, choose: setChosen }), [canDecide]);
  const query = useQuery(listQuery<Divergence>('updates', PATH, list.query));
  return (
    <Page
      title="Divergences"
      lead="One name and version with different hashes. Nothing that binds a disputed hash is installed, and no override passes it."
    >
      <ListTable
        list={list}
        query={query}
        noun="divergences"
        empty={
          <EmptyState title="Every artifact has one hash">
            As soon as two hosts, or two plans, name different files under one name and version, it stands
            here.
          </EmptyState>
        }
        toolbar={
          <FilterSelect
            label="State"
            value={list.filter.open}
            choices={OPEN_WORDS}
            onChoose={(open) => list.setFilter({ open })}
          />
        }
        label="Divergences"
        columns={columns}
        rowId={idOf}
        onOpen={setChosen}
      />
      {chosen && (
        <DecideDialog path={PATH} divergence={chosen} canDecide={canDecide} onClose={() => setChosen(null)} />
      )}
    </Page>
  );
}

const idOf = ({ id }: Divergence) => id;

interface Verbs {
  readonly canDecide: boolean;
  readonly choose: (divergence: Divergence) => void;
}

function columnsOf({ canDecide, choose }: Verbs): readonly Column<Divergence>[] {
  return [
    {
      id: 'package',
      header: 'Package',
      wide: true,
      cell: ({ name, version, variant }) => (
        <span className="mono">
          {name}@{version}
          {variant !== null && ` (${variant})`}
        </span>
      ),
    },
    {
      id: 'ecosystem',
      header: 'Ecosystem',
      cell: ({ ecosystem, distribution }) =>
        distribution === null ? ecosystem : `${ecosystem}, ${distribution}`,
    },
    {
      id: 'state',
      header: 'State',
      cell: ({ state }) =>
        state === 'open' ? (
          <Badge tone="bad" icon={<GitFork />}>
            waits for a decision
          </Badge>
        ) : (
          <Badge tone="good" icon={<CircleCheck />}>
            decided
          </Badge>
        ),
    },
    { id: 'hashes', header: 'Hashes', align: 'right', cell: ({ hashes }) => hashes.length },
    { id: 'opened_at', header: 'Seen', cell: ({ opened_at: at }) => <Time at={at} /> },
    {
      id: 'decided_by',
      header: 'Decided by',
      cell: ({ decided_by: by }) => by ?? <span className="text-muted">–</span>,
    },
    {
      id: 'decide',
      header: 'Verb',
      cell: (divergence) => (
        <Button
          tone="quiet"
          aria-label={`Look at ${divergence.name}@${divergence.version}`}
          onClick={() => choose(divergence)}
        >
          {canDecide ? 'Decide' : 'Look'}
        </Button>
      ),
    },
  ];
}
