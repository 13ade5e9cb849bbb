import { useQuery } from '@tanstack/react-query';
import type { Divergence } from '@tidegate/protocol/artifacts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleCheck, GitFork } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Badge } from '../ui/badge.tsx';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { useSelection } from '../ui/selection.ts';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { DecideDialog } from './decide-dialog.tsx';
import { DecideManyDialog } from './decide-many-dialog.tsx';
import { SetAsidePanel } from './set-aside-panel.tsx';
import { stateWords } from './standing-words.ts';

const PATH = '/api/v1/artifacts/divergences';
const FILTERS = ['open'] as const;

const OPEN_WORDS = { true: 'needs a decision', false: 'decided or settled' };

/** Packages reported with different hashes, and the hosts whose reports are ignored. */
export function DivergencesPage() {
  const list = useListSearch(FILTERS);
  const { may } = useSession();
  const [chosen, setChosen] = useState<Divergence | null>(null);
  const canDecide = may('approver');
  const columns = useMemo(() => columnsOf(setChosen), []);
  const query = useQuery(listQuery<Divergence>('updates', PATH, list.query));
  const selection = useSelection(list.key);
  const [isDeciding, setIsDeciding] = useState(false);
  const selected = (query.data?.items ?? []).filter(({ id }) => selection.has(id));
  return (
    <Page
      title="Divergences"
      lead={
        <>
          Packages reported <Term of="divergence">with different hashes</Term> under one name and version.
          Updates with a disputed hash are not installed, even with an <Term of="override">override</Term>.
        </>
      }
    >
      <SetAsidePanel canTrust={canDecide} />
      <ListTable
        list={list}
        query={query}
        noun="divergences"
        empty={
          <EmptyState title="No conflicting hashes">
            When two hosts or two plans report different files under one name and version, the package is
            listed here.
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
        rowName={nameOf}
        onOpen={setChosen}
        {...(canDecide ? { selection } : {})}
      />
      <BulkBar count={selected.length} noun="divergences" onClear={selection.clear}>
        <Button onClick={() => setIsDeciding(true)}>Decide all of them</Button>
      </BulkBar>
      {isDeciding && (
        <DecideManyDialog
          path={PATH}
          divergences={selected}
          onDone={selection.clear}
          onClose={() => setIsDeciding(false)}
        />
      )}
      {chosen && (
        <DecideDialog path={PATH} divergence={chosen} canDecide={canDecide} onClose={() => setChosen(null)} />
      )}
    </Page>
  );
}

const idOf = ({ id }: Divergence) => id;
const nameOf = ({ name, version }: Divergence) => `${isolated(name)}@${isolated(version)}`;

function columnsOf(choose: (divergence: Divergence) => void): readonly Column<Divergence>[] {
  return [
    {
      id: 'package',
      header: 'Package',
      wide: true,
      cell: ({ name, version, variant }) => (
        <span className="mono">
          <bdi>{name}</bdi>@<bdi>{version}</bdi>
          {variant !== null && ` (${variant})`}
        </span>
      ),
    },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      cell: (divergence) =>
        divergence.state === 'open' ? (
          <Badge tone="bad" icon={<GitFork />}>
            {stateWords(divergence)}
          </Badge>
        ) : (
          <Badge tone="good" icon={<CircleCheck />}>
            {stateWords(divergence)}
          </Badge>
        ),
    },
    {
      id: 'ecosystem',
      header: 'Package manager',
      cell: ({ ecosystem, distribution }) =>
        distribution === null ? MANAGERS[ecosystem] : `${MANAGERS[ecosystem]}, ${distribution}`,
    },
    { id: 'hashes', header: 'Hashes', align: 'right', cell: ({ hashes }) => hashes.length },
    { id: 'opened_at', header: 'Opened', cell: ({ opened_at: at }) => <Time at={at} /> },
    {
      id: 'decided_by',
      header: 'Decided by',
      cell: ({ decided_by: by }) => by ?? <None word="–" />,
    },
    {
      id: 'decide',
      header: 'Actions',
      cell: (divergence) => (
        <Button
          tone="quiet"
          aria-label={`Review ${isolated(divergence.name)}@${isolated(divergence.version)}`}
          onClick={() => choose(divergence)}
        >
          Review
        </Button>
      ),
    },
  ];
}
