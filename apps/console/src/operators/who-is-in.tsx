import { useQuery } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { OperatorSession } from '@tidegate/protocol/sessions-api';
import { LogOut } from 'lucide-react';
import { useMemo, useState } from 'react';
import { clientInWords } from '../account/client-words.ts';
import { loginText } from '../account/login-words.ts';
import { remove } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt, toast } from '../ui/toasts.tsx';

const PATH = '/api/v1/admin/sessions';

/** The open sessions of every operator: who is in, since when, from where, and a way to end them. */
export function WhoIsIn() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const query = useQuery(listQuery<OperatorSession>('session', PATH, { cursor: cursors.at(-1) }));
  const [isEnding, setEnding] = useState(false);
  const columns = useMemo(() => columnsOf((session) => void attempt(() => endOne(session))), []);
  const pager = {
    isFirst: cursors.length === 0,
    next: (cursor: string) => setCursors([...cursors, cursor]),
    back: () => setCursors(cursors.slice(0, -1)),
  };
  return (
    <>
      <ListPanel
        query={query}
        noun="sessions"
        pager={pager}
        clearFilter={null}
        empty={<EmptyState title="Nobody is logged in" />}
        title="Who is in"
        act={
          <Button icon={<LogOut aria-hidden="true" className="size-4" />} onClick={() => setEnding(true)}>
            End all others
          </Button>
        }
      >
        {(items) => <DataTable label="Who is in" columns={columns} rows={items} rowId={({ id }) => id} />}
      </ListPanel>
      {isEnding && (
        <ConfirmDialog
          title="End all other sessions?"
          confirm="End all others"
          onConfirm={() => end(PATH, 'Every session but this one has ended.')}
          onClose={() => setEnding(false)}
        >
          <p>
            Everybody else has to log in again, and so do you everywhere but here. API tokens stay: revoke
            them below if they may be in the wrong hands.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function endOne({ id, username }: OperatorSession): Promise<void> {
  return end(`/api/v1/auth/sessions/${id}`, `The session of ${isolated(username)} has ended.`);
}

/** Asks before all sessions of one operator end, except the own one. */
export function EndSessionsDialog({
  operator: { id, username },
  isOwn,
  onClose,
}: {
  operator: { id: string; username: string };
  isOwn: boolean;
  onClose: () => void;
}) {
  const path = `/api/v1/admin/operators/${id}/sessions`;
  return isOwn ? (
    <ConfirmDialog
      title="End your other sessions?"
      confirm="End them"
      onConfirm={() => end(path, 'Your other sessions have ended.')}
      onClose={onClose}
    >
      <p>You stay logged in here, and have to log in again everywhere else. Your API tokens stay.</p>
    </ConfirmDialog>
  ) : (
    <ConfirmDialog
      title={`End all sessions of ${isolated(username)}?`}
      confirm="End all"
      onConfirm={() => end(path, `The sessions of ${isolated(username)} have ended.`)}
      onClose={onClose}
    >
      <p>They have to log in again, on every device. Their API tokens stay.</p>
    </ConfirmDialog>
  );
}

async function end(path: string, told: string): Promise<void> {
  await withStepUp(() => remove(path));
  toast(told);
  await queryClient.invalidateQueries({ queryKey: ['session'] });
}

function columnsOf(endIt: (session: OperatorSession) => void): readonly Column<OperatorSession>[] {
  return [
    {
      id: 'username',
      header: 'Who',
      wide: true,
      cell: ({ username, is_current }) => (
        <>
          <bdi>{username}</bdi> {is_current && <Badge tone="accent">this session</Badge>}
        </>
      ),
    },
    {
      id: 'user_agent',
      header: 'Browser',
      cell: ({ user_agent }) => <span title={user_agent}>{clientInWords(user_agent)}</span>,
    },
    { id: 'address', header: 'Address', cell: ({ address }) => <span className="mono">{address}</span> },
    { id: 'by', header: 'Logged in with', folds: true, cell: ({ method }) => loginText(method) },
    { id: 'created_at', header: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'last_used_at', header: 'Last seen', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    {
      id: 'end',
      header: 'Actions',
      cell: (session) =>
        session.is_current ? null : (
          <Button
            tone="quiet"
            aria-label={`End the session of ${isolated(session.username)} in ${clientInWords(session.user_agent)}`}
            onClick={() => endIt(session)}
          >
            End
          </Button>
        ),
    },
  ];
}
