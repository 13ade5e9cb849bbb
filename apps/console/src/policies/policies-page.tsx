import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { PolicyItem } from '@tidegate/protocol/policies-api';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { Button } from '../ui/button.tsx';
import { By } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { POLICIES, runText, scopeText, shortRunText } from './policy-rules.ts';
import { PolicyState } from './policy-state.tsx';
import { PublishPolicy } from './publish-policy.tsx';
import { windowsText } from './schedule-rules.ts';

const NO_FILTERS: readonly never[] = [];

/** Standing approvals: what the fleet approves without a person, in force and ended. */
export function PoliciesPage() {
  const list = useListSearch(NO_FILTERS);
  const navigate = useNavigate();
  const { may } = useSession();
  const mayPublish = may('approver');
  const [isAdding, setAdding] = useState(false);
  const query = useQuery(listQuery<PolicyItem>('updates', POLICIES, list.query));
  const open = (id: string) => void navigate({ to: '/policies/$id', params: { id } });
  return (
    <Page
      title="Policies"
      lead={
        <>
          A policy approves updates without a person, in the name of its author, until its end. It never
          overrides what the <Term of="gate">gate</Term> stops.
        </>
      }
      actions={
        mayPublish && (
          <Button
            tone="primary"
            onClick={() => setAdding(true)}
            icon={<Plus aria-hidden="true" className="size-4" />}
          >
            Publish a policy
          </Button>
        )
      }
    >
      <ListTable
        list={list}
        query={query}
        noun="policies"
        empty={
          <EmptyState title="No policies" action={<Link to="/updates">See the updates</Link>}>
            Every update waits for a person. A policy can approve by itself what you would approve without
            looking twice, such as security updates that have been out for two days.
          </EmptyState>
        }
        label="Policies"
        columns={COLUMNS}
        rowId={({ id }) => id}
        onOpen={({ id }) => open(id)}
      />
      {isAdding && mayPublish && (
        <PublishPolicy policy={null} onPublished={open} onClose={() => setAdding(false)} />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<PolicyItem>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, name }) => (
      <Link
        to="/policies/$id"
        params={{ id }}
        title={name}
        className="inline-block max-w-72 truncate align-bottom font-medium"
      >
        {name}
      </Link>
    ),
  },
  { id: 'state', header: 'State', part: 'pinned', cell: (policy) => <PolicyState policy={policy} /> },
  {
    id: 'scope',
    header: 'Hosts',
    folds: true,
    cell: ({ scope }) => scopeText(scope),
  },
  {
    id: 'windows',
    header: 'Windows',
    wide: true,
    wraps: true,
    cell: ({ windows }) => <span title={windowsText(windows)}>{windowsText(windows)}</span>,
  },
  { id: 'next', header: 'Next window', cell: (policy) => <NextWindow policy={policy} /> },
  {
    id: 'last_run',
    header: 'Last run',
    folds: true,
    cell: ({ last_run: run }) =>
      run === null ? (
        <span className="text-muted">never</span>
      ) : (
        <>
          <Time at={run.at} />
          <p className="text-muted" title={runText(run)}>
            {shortRunText(run)}
          </p>
        </>
      ),
  },
  { id: 'author', header: 'Author', roomy: true, cell: ({ author }) => <By name={author} /> },
  { id: 'ends_at', header: 'Ends', cell: ({ ends_at: at }) => <Time at={at} /> },
];

function NextWindow({ policy: { state, windows, window } }: { policy: PolicyItem }) {
  const now = useNow();
  if (state !== 'in_force') return <None />;
  if (windows.length === 0) return 'always open';
  if (window === null) return <span className="text-muted">none any more</span>;
  if (Date.parse(window.opens_at) > now) return <Time at={window.opens_at} />;
  return (
    <>
      open, closes <Time at={window.closes_at} />
    </>
  );
}
