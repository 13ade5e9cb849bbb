import { useQuery } from '@tanstack/react-query';
import type { OperatorSession } from '@tidegate/protocol/sessions-api';
import { LogOut } from 'lucide-react';
import { useMemo, useState } from 'react';
import { clientInWords } from '../account/client-words.ts';
import { LOGIN_WORDS } from '../account/login-words.ts';
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
        toolbar={
          <div className="flex w-full items-center justify-between">
            <h2 className="font-semibold">Who is in</h2>
            <Button icon={<LogOut aria-hidden="true" className="size-4" />} onClick={() => setEnding(true)}>
              End all
            </Button>
          </div>
        }
      >
        {(items) => <DataTable label="Who is in" columns={columns} rows={items} rowId={({ id }) => id} />}
      </ListPanel>
      {isEnding && (
        <ConfirmDialog
          title="End all sessions?"
          confirm="End all"
          onConfirm={() => end(PATH, 'Every session but yours has ended.')}
          onClose={() => setEnding(false)}
        >
          <p>
            Everybody but you has to log in again, on every device. API tokens stay: revoke them below if they
            may be in wrong hands.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function endOne({ id, username }: OperatorSession): Promise<void> {
  return end(`/api/v1/auth/sessions/${id}`, `The session of ${username} has ended.`);
}

/** Ends all sessions of one operator, but not the own one. */
export function endSessionsOf({ id, username }: { id: string; username: string }): Promise<void> {
  return end(`/api/v1/admin/operators/${id}/sessions`, `The sessions of ${username} have ended.`);
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
          {username} {is_current && <Badge tone="accent">this session</Badge>}
        </>
      ),
    },
    {
      id: 'user_agent',
      header: 'Browser',
      cell: ({ user_agent }) => <span title={user_agent}>{clientInWords(user_agent)}</span>,
    },
    { id: 'address', header: 'Address', cell: ({ address }) => <span className="mono">{address}</span> },
    { id: 'by', header: 'Logged in with', cell: ({ method }) => LOGIN_WORDS[method].by },
    {
      id: 'factor',
      header: 'Second factor',
      cell: ({ method }) => LOGIN_WORDS[method].factor ?? <span className="text-muted">none</span>,
    },
    { id: 'created_at', header: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'last_used_at', header: 'Last seen', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    {
      id: 'end',
      header: 'Actions',
      cell: (session) =>
        session.is_current ? null : (
          <Button
            tone="quiet"
            aria-label={`End the session of ${session.username} in ${clientInWords(session.user_agent)}`}
            onClick={() => endIt(session)}
          >
            End
          </Button>
        ),
    },
  ];
}
