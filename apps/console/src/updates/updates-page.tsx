import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { useCallback, useMemo, useRef, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { ColumnChooser } from '../shell/column-chooser.tsx';
import { useHiddenColumns } from '../shell/hidden-columns.ts';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { type Selection, useSelection } from '../ui/selection.ts';
import { SavedViews } from '../views/saved-views.tsx';
import { BulkApproval } from './bulk-approval.tsx';
import { type Chosen, sizeOf } from './bulk-rules.ts';
import { FilterBar } from './filter-bar.tsx';
import { UPDATE_FILTERS } from './filter-rules.ts';
import { Grouping } from './grouping.tsx';
import { NoUpdates } from './no-updates.tsx';
import { HIDDEN_AT_FIRST, UPDATE_COLUMNS } from './update-columns.tsx';
import { useFirstVisit } from './use-first-visit.ts';
import { useListActions } from './use-list-actions.tsx';

const HIDEABLE = UPDATE_COLUMNS.filter(({ id }) => id !== 'name');
/** Under a filter that names the state, its column says the same in each row. */
const OF_ONE_STATE = UPDATE_COLUMNS.map((column) =>
  column.id === 'state' ? { ...column, roomy: true } : column,
);
/** What fixes the worst first. */
const MOST_URGENT = 'urgency';
const NONE: readonly UpdateItem[] = [];

/** All updates of the fleet; at first those that are pending. */
export function UpdatesPage() {
  const list = useListSearch(UPDATE_FILTERS);
  const isReady = useFirstVisit(list);
  const navigate = useNavigate();
  const { may } = useSession();
  const selection = useSelection(list.key);
  const columns = useHiddenColumns('updates', HIDDEN_AT_FIRST);
  const box = useRef<HTMLInputElement>(null);
  const [active, setActive] = useState<UpdateItem | null>(null);
  const [approving, setApproving] = useState<Chosen | null>(null);
  const query = useQuery({
    ...listQuery<UpdateItem>('updates', '/api/v1/updates', { ...list.query, sort: list.sort ?? MOST_URGENT }),
    enabled: isReady,
  });
  const rows = query.data?.items ?? NONE;
  // What is set at first is no filter that somebody has to clear.
  const isCaughtUp =
    query.data?.items.length === 0 &&
    Object.values(list.filter).filter(Boolean).length === 1 &&
    list.filter.state === 'pending';
  const total = query.data?.total ?? 0;
  const known = useKnown(rows);
  const chosen = useMemo((): Chosen | null => {
    if (selection.isAllMatching) return { kind: 'filter', filter: list.filter, count: total };
    return selection.ids.size > 0 ? { kind: 'ids', ids: [...selection.ids] } : null;
  }, [selection, list.filter, total]);
  const onApprove = useCallback((what: Chosen) => setApproving(what), []);
  const current = rows.find(({ id }) => id === active?.id) ?? null;
  const verbs = useListActions({ selection, chosen, rows, active: current, box, onApprove });
  const isApprover = may('approver');

  return (
    <Page
      title="Updates"
      lead={
        <>
          The updates that hosts reported, what they fix, what they{' '}
          <Term of="bringsOrKeeps">bring or keep</Term>, and what was decided.
        </>
      }
    >
      <ListTable
        list={isCaughtUp ? { ...list, isFiltered: false } : list}
        above={(items) =>
          isApprover && (
            <AllMatching
              selection={selection}
              ids={items.map(idOf)}
              total={total}
              isCapped={query.data?.total_is_capped === true}
            />
          )
        }
        query={query}
        noun="updates"
        empty={
          <NoUpdates
            title={isCaughtUp ? 'No update waits for a decision' : 'No host has reported an update yet'}
          >
            Updates appear after a host has scanned.
          </NoUpdates>
        }
        toolbar={
          <FilterBar list={list} box={box}>
            <Grouping filter={list.filter} />
            <SavedViews list={list} page="updates" filters={UPDATE_FILTERS} />
            <ColumnChooser columns={HIDEABLE} choice={columns} />
          </FilterBar>
        }
        label="Updates"
        columns={list.filter.state ? OF_ONE_STATE : UPDATE_COLUMNS}
        rowId={idOf}
        rowName={nameOf}
        onOpen={(update) => void navigate({ to: '/updates/$id', params: { id: update.id } })}
        onActive={setActive}
        order={MOST_URGENT}
        hidden={columns.hidden}
        {...(isApprover ? { selection } : {})}
      />
      <BulkBar count={chosen ? sizeOf(chosen) : 0} noun="updates" onClear={selection.clear}>
        {verbs.map(({ id, label, icon, shortcut, isAllowed, run }) => (
          <Button
            key={id}
            tone={id === 'approve' ? 'primary' : 'plain'}
            icon={icon}
            shortcut={shortcut?.toUpperCase()}
            disabled={!isAllowed}
            onClick={run}
          >
            {label}
          </Button>
        ))}
      </BulkBar>
      {approving && (
        <BulkApproval
          chosen={approving}
          known={known}
          onDone={selection.clear}
          onClose={() => setApproving(null)}
        />
      )}
    </Page>
  );
}

const idOf = (update: UpdateItem) => update.id;
const nameOf = (update: UpdateItem) => `${isolated(update.name)} on ${isolated(update.hostname)}`;

/** Shown once the whole page is selected: offers everything that matches the filter, including other pages. */
function AllMatching({
  selection,
  ids,
  total,
  isCapped,
}: {
  selection: Selection;
  ids: readonly string[];
  total: number;
  /** There are more than the server counts, and more than one request may hold. */
  isCapped: boolean;
}) {
  const isPage = ids.length > 0 && ids.every((id) => selection.has(id));
  if (!isPage || total <= ids.length) return null;
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-4 py-1.5"
    >
      {selection.isAllMatching
        ? `All ${counted(total, 'update')} that match are selected.`
        : `All ${counted(ids.length, 'update')} on this page are selected.`}
      {isCapped && 'Too many match for one request: narrow the filter to select them all.'}
      {!selection.isAllMatching && !isCapped && (
        <Button tone="quiet" onClick={selection.selectAllMatching}>
          Select all {total.toLocaleString('en')} matching
        </Button>
      )}
    </p>
  );
}

/** The updates that were on screen so far, by their ids. */
function useKnown(rows: readonly UpdateItem[]): ReadonlyMap<string, UpdateItem> {
  const seen = useRef(new Map<string, UpdateItem>());
  for (const row of rows) seen.current.set(row.id, row);
  return seen.current;
}
