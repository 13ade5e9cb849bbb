import { useQuery } from '@tanstack/react-query';
import type { ApiTokenItem } from '@tidegate/protocol/api-tokens-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleCheck, CirclePause, CircleX, KeyRound } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { reachOf } from './access-rules.ts';
import { NewTokenDialog } from './new-token-dialog.tsx';

const PATH = '/api/v1/admin/api-tokens';

/** The API tokens of programs: what each may do, until when, and when it was last used. */
export function ApiTokens() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const query = useQuery(listQuery<ApiTokenItem>('operators', PATH, { cursor: cursors.at(-1) }));
  const [open, setOpen] = useState<'new' | ApiTokenItem | null>(null);
  const columns = useMemo(() => columnsOf(setOpen), []);
  const pager = {
    isFirst: cursors.length === 0,
    next: (cursor: string) => setCursors([...cursors, cursor]),
    back: () => setCursors(cursors.slice(0, -1)),
  };
  const close = () => setOpen(null);
  const make = (
    <Button icon={<KeyRound aria-hidden="true" className="size-4" />} onClick={() => setOpen('new')}>
      Create a token
    </Button>
  );
  return (
    <>
      <ListPanel
        query={query}
        noun="API tokens"
        pager={pager}
        clearFilter={null}
        empty={
          <EmptyState title="No API tokens">
            A token lets a script or pipeline use the API within a role, until a date.
          </EmptyState>
        }
        title="API tokens"
        act={make}
      >
        {(items) => <DataTable label="API tokens" columns={columns} rows={items} rowId={({ id }) => id} />}
      </ListPanel>
      {open === 'new' && <NewTokenDialog path={PATH} onClose={close} />}
      {open !== null && open !== 'new' && (
        <ConfirmDialog
          title={`Revoke ${isolated(open.label)}?`}
          confirm="Revoke"
          typed={open.label}
          onConfirm={async () => {
            await withStepUp(() => remove(`${PATH}/${open.id}`));
            await queryClient.invalidateQueries({ queryKey: ['operators'] });
          }}
          onClose={close}
        >
          <p>Requests with this token are refused from now on. This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const STATES: Readonly<Record<ApiTokenItem['state'], { tone: BadgeTone; icon: ReactNode }>> = {
  active: { tone: 'good', icon: <CircleCheck /> },
  expired: { tone: 'neutral', icon: <CircleX /> },
  suspended: { tone: 'warn', icon: <CirclePause /> },
};

function columnsOf(open: (token: ApiTokenItem) => void): readonly Column<ApiTokenItem>[] {
  return [
    { id: 'label', header: 'Label', wide: true, cell: ({ label }) => label },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      cell: ({ state }) => (
        <Badge tone={STATES[state].tone} icon={STATES[state].icon}>
          {state}
        </Badge>
      ),
    },
    {
      id: 'role',
      header: 'Role and scopes',
      folds: true,
      cell: ({ role, scopes }) => (
        <>
          {role}
          <p className="text-muted">{scopes?.join(', ') ?? 'all but overrides'}</p>
        </>
      ),
    },
    { id: 'groups', header: 'Can see', folds: true, cell: ({ groups }) => reachOf(groups) },
    { id: 'created_by', header: 'Created by', cell: ({ created_by }) => created_by },
    { id: 'last_used_at', header: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    { id: 'expires_at', header: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      id: 'revoke',
      header: 'Actions',
      cell: (token) => (
        <Button tone="quiet" aria-label={`Revoke ${isolated(token.label)}`} onClick={() => open(token)}>
          Revoke
        </Button>
      ),
    },
  ];
}
