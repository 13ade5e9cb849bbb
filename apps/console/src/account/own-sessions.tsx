import { useQuery } from '@tanstack/react-query';
import type { Session } from '@tidegate/protocol/sessions-api';
import { useMemo } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { clientInWords } from './client-words.ts';
import { loginText } from './login-words.ts';

const PATH = '/api/v1/auth/sessions';
const NO_FILTERS = [] as const;

/** Lists the operator's sessions and ends them. */
export function OwnSessions() {
  const list = useListSearch(NO_FILTERS);
  const query = useQuery(listQuery<Session>('session', PATH, list.query));
  const columns = useMemo(() => columnsOf((path) => void attempt(() => end(path))), []);
  return (
    <ListTable
      list={list}
      query={query}
      noun="sessions"
      empty={<EmptyState title="No sessions" />}
      title="Sessions"
      act={<Button onClick={() => void attempt(() => end(PATH))}>End all others</Button>}
      label="Sessions"
      columns={columns}
      rowId={({ id }) => id}
    />
  );
}

async function end(path: string): Promise<void> {
  await withStepUp(() => remove(path));
  toast(path === PATH ? 'Your other sessions have ended.' : 'The session has ended.');
  await queryClient.invalidateQueries({ queryKey: ['session'] });
}

function columnsOf(endOne: (path: string) => void): readonly Column<Session>[] {
  return [
    {
      id: 'user_agent',
      header: 'Browser',
      wide: true,
      cell: ({ user_agent, is_current }) => (
        <>
          {is_current && <Badge tone="accent">this session</Badge>}{' '}
          <span title={user_agent}>{clientInWords(user_agent)}</span>
        </>
      ),
    },
    { id: 'address', header: 'Address', cell: ({ address }) => <span className="mono">{address}</span> },
    {
      id: 'method',
      header: 'Logged in with',
      folds: true,
      cell: ({ method }) => loginText(method),
    },
    { id: 'created_at', header: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'last_used_at', header: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    {
      id: 'end',
      header: 'Actions',
      cell: ({ id, is_current, user_agent }) =>
        is_current ? null : (
          <Button
            tone="quiet"
            aria-label={`End the session of ${clientInWords(user_agent)}`}
            onClick={() => endOne(`${PATH}/${id}`)}
          >
            End
          </Button>
        ),
    },
  ];
}
