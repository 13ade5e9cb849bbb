import { useQuery } from '@tanstack/react-query';
import type { CreatedRegistrationToken, RegistrationTokenItem } from '@tidegate/protocol/enrolment-api';
import { CircleCheck, CircleX, Clock } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { type TokenState, tokenState } from './enrolment-rules.ts';
import { InstallPanel } from './install-panel.tsx';
import { NewTokenForm } from './new-token-form.tsx';

const PATH = '/api/v1/admin/registration-tokens';
const NO_FILTERS = [] as const;

const STATES: Readonly<Record<TokenState, { tone: BadgeTone; icon: ReactNode }>> = {
  open: { tone: 'good', icon: <CircleCheck /> },
  'used up': { tone: 'neutral', icon: <CircleX /> },
  ended: { tone: 'neutral', icon: <Clock /> },
};

/** How hosts join: registration tokens, and the line that is pasted on a host. */
export function EnrolmentPage() {
  const { may } = useSession();
  return may('admin') ? (
    <Enrolment />
  ) : (
    <Page title="Add hosts">
      <EmptyState title="Only an admin adds hosts">Ask one for the line to paste on the host.</EmptyState>
    </Page>
  );
}

function Enrolment() {
  const list = useListSearch(NO_FILTERS);
  const [created, setCreated] = useState<CreatedRegistrationToken | null>(null);
  const [withdrawing, setWithdrawing] = useState<RegistrationTokenItem | null>(null);
  const query = useQuery(listQuery<RegistrationTokenItem>('enrolment', PATH, list.query));
  const columns = useMemo(() => columnsOf(setWithdrawing), []);
  return (
    <Page title="Add hosts" lead="A host joins with a registration token and one line.">
      <div className="space-y-4">
        <Panel title="New registration token">
          <NewTokenForm onCreated={setCreated} />
        </Panel>
        {created && <InstallPanel key={created.id} token={created} onClose={() => setCreated(null)} />}
        <ListTable
          list={list}
          query={query}
          noun="registration tokens"
          empty={<EmptyState title="No registration token yet">Make one above to add a host.</EmptyState>}
          label="Registration tokens"
          columns={columns}
          rowId={idOf}
        />
      </div>
      {withdrawing && (
        <ConfirmDialog
          title="Withdraw the token"
          confirm="Withdraw"
          onClose={() => setWithdrawing(null)}
          onConfirm={async () => {
            await withStepUp(() => remove(`${PATH}/${withdrawing.id}`));
            void queryClient.invalidateQueries({ queryKey: ['enrolment'] });
            setCreated((now) => (now?.id === withdrawing.id ? null : now));
            toast('The token enrols nobody any more. Hosts that joined with it stay.');
          }}
        >
          <p className="break-words">
            “{withdrawing.label}” enrols no host from now on. The hosts that joined with it stay. It cannot be
            taken back, but another token is made in a moment.
          </p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

const idOf = (token: RegistrationTokenItem) => token.id;

function columnsOf(
  onWithdraw: (token: RegistrationTokenItem) => void,
): readonly Column<RegistrationTokenItem>[] {
  return [
    { id: 'label', header: 'Label', wide: true, cell: ({ label }) => label },
    { id: 'state', header: 'State', cell: (token) => <State token={token} /> },
    {
      id: 'seats',
      header: 'Seats used',
      align: 'right',
      cell: ({ seats, seats_used: used }) => `${used.toLocaleString('en')} of ${seats.toLocaleString('en')}`,
    },
    {
      id: 'group',
      header: 'Group',
      cell: ({ group }) => group ?? <span className="text-muted">none</span>,
    },
    { id: 'expires_at', header: 'Ends', cell: (token) => <Time at={token.expires_at} /> },
    { id: 'created_by', header: 'Made by', cell: (token) => token.created_by },
    { id: 'created_at', header: 'Made', cell: (token) => <Time at={token.created_at} /> },
    {
      id: 'verbs',
      header: 'Actions',
      cell: (token) => (
        <Button tone="quiet" aria-label={`Withdraw ${token.label}`} onClick={() => onWithdraw(token)}>
          Withdraw
        </Button>
      ),
    },
  ];
}

function State({ token }: { token: RegistrationTokenItem }) {
  const state = tokenState(token, useNow());
  const { tone, icon } = STATES[state];
  return (
    <Badge tone={tone} icon={icon}>
      {state}
    </Badge>
  );
}
