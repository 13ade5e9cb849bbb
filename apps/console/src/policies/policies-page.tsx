import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Policy } from '@tidegate/protocol/policies-api';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { LastRun, PolicyState } from './policy-state.tsx';
import { scheduleText, scopeText } from './policy-words.ts';

const NO_FILTERS: readonly never[] = [];
export const POLICIES = '/api/v1/policies';

/** Policies that approve by themselves, in force and ended. */
export function PoliciesPage() {
  const list = useListSearch(NO_FILTERS);
  const query = useQuery(listQuery<Policy>('updates', POLICIES, list.query));
  return (
    <Page
      title="Policies"
      lead="Standing approvals: each asks the gate by itself, in the name of its author, and leaves to people what it stops."
    >
      <ListTable
        list={list}
        query={query}
        noun="policies"
        empty={
          <EmptyState title="No policies" action={<Link to="/updates">See the updates</Link>}>
            Every update waits for a person. A policy approves what is clear by itself, on the hosts and in
            the windows that you name: publish one with <code className="mono">tidegate policies apply</code>{' '}
            or the API. The runbook “first policy” says how to begin.
          </EmptyState>
        }
        label="Policies"
        columns={COLUMNS}
        rowId={idOf}
      />
    </Page>
  );
}

const idOf = ({ id }: Policy) => id;

const COLUMNS: readonly Column<Policy>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, name }) => (
      <Link to="/policies/$id" params={{ id }} className="font-medium">
        {name}
      </Link>
    ),
  },
  { id: 'state', header: 'State', cell: (policy) => <PolicyState policy={policy} /> },
  { id: 'scope', header: 'Hosts', cell: ({ scope }) => scopeText(scope) },
  {
    id: 'windows',
    header: 'Windows',
    wide: true,
    cell: ({ windows }) => (windows.length === 0 ? 'at any time' : windows.map(scheduleText).join('; ')),
  },
  { id: 'author', header: 'Author', cell: ({ author }) => author },
  {
    id: 'last_run',
    header: 'Last run',
    cell: ({ last_run: run }) => <LastRun run={run} />,
  },
];
