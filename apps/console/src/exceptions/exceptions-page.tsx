import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { AgeException } from '@tidegate/protocol/approvals-api';
import { isolated } from '@tidegate/protocol/isolated';
import { Plus, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { AddException } from './add-exception.tsx';
import { EXCEPTIONS, prefillOf } from './exception-rules.ts';

const NO_FILTERS: readonly never[] = [];

/** Versions that are exempt from the minimum age until their exception expires (A7). */
export function ExceptionsPage() {
  const list = useListSearch(NO_FILTERS);
  const { may } = useSession();
  const isAdmin = may('admin');
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const prefill = prefillOf(search);
  const [isAdding, setAdding] = useState(prefill !== null);
  const [ending, setEnding] = useState<AgeException | null>(null);
  const columns = useMemo(() => columnsOf(isAdmin ? setEnding : null), [isAdmin]);
  const query = useQuery(listQuery<AgeException>('updates', EXCEPTIONS, list.query));
  const add = isAdmin && (
    <Button
      tone="primary"
      onClick={() => setAdding(true)}
      icon={<Plus aria-hidden="true" className="size-4" />}
    >
      Add an exception
    </Button>
  );
  return (
    <Page
      title="Age exceptions"
      lead="An exception lets one version of one package through before it reaches the minimum age, until a date you choose."
      actions={add}
    >
      {prefill !== null && !isAdmin && (
        <p role="status" className="mb-3 rounded-lg border border-line bg-surface px-4 py-2">
          Only an admin can except{' '}
          <span className="mono">
            <bdi>{prefill.name}</bdi>@<bdi>{prefill.version}</bdi>
          </span>
          .
        </p>
      )}
      <ListTable
        list={list}
        query={query}
        noun="exceptions"
        empty={
          <EmptyState title="No age exceptions" action={<Link to="/updates">See the updates</Link>}>
            New versions of npm and PyPI packages must reach the minimum age before they are approved. If a
            fix cannot wait, the page of its update links here.
          </EmptyState>
        }
        label="Age exceptions"
        columns={columns}
        rowId={idOf}
      />
      {isAdding && isAdmin && <AddException prefill={prefill} onClose={() => setAdding(false)} />}
      {ending && <EndException exception={ending} onClose={() => setEnding(null)} />}
    </Page>
  );
}

const idOf = ({ id }: AgeException) => id;

function columnsOf(onEnd: ((exception: AgeException) => void) | null): readonly Column<AgeException>[] {
  const columns: readonly Column<AgeException>[] = [
    {
      id: 'package',
      header: 'Package',
      cell: ({ name, version }) => (
        <span className="mono">
          <bdi>{name}</bdi>@<bdi>{version}</bdi>
        </span>
      ),
    },
    {
      id: 'ends',
      header: 'Expires',
      part: 'pinned',
      cell: (exception) => <Ends at={exception.expires_at} />,
    },
    { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
    {
      id: 'reason',
      header: 'Reason',
      wide: true,
      wraps: true,
      cell: ({ reason }) => <span title={reason}>{reason}</span>,
    },
    {
      id: 'created_by',
      header: 'Created by',
      cell: (exception) => <ByWhom by={exception.created_by} at={exception.created_at} />,
    },
  ];
  if (onEnd === null) return columns;
  const end: Column<AgeException> = {
    id: 'end',
    header: 'Actions',
    cell: (exception) => (
      <IconButton
        word="End"
        label={`End the exception for ${isolated(exception.name)}@${isolated(exception.version)}`}
        onClick={() => onEnd(exception)}
      >
        <Trash2 aria-hidden="true" className="size-4" />
      </IconButton>
    ),
  };
  return [...columns, end];
}

function Ends({ at }: { at: string }) {
  const now = useNow();
  if (Date.parse(at) > now) return <Time at={at} />;
  return (
    <span className="inline-flex items-center gap-1.5">
      <Badge tone="neutral">expired</Badge> <Time at={at} />
    </span>
  );
}

function EndException({ exception, onClose }: { exception: AgeException; onClose: () => void }) {
  const named = `${isolated(exception.name)}@${isolated(exception.version)}`;
  const end = async () => {
    await withStepUp(() => remove(`${EXCEPTIONS}/${exception.id}`));
    toast(`The exception for ${isolated(named)} has ended.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`End the exception for ${isolated(named)}`}
      confirm="End the exception"
      onConfirm={end}
      onClose={onClose}
    >
      <p>The minimum age applies to this version again. Existing approvals stay valid.</p>
    </ConfirmDialog>
  );
}
