import { useQuery } from '@tanstack/react-query';
import type { CreatedRegistrationToken, RegistrationTokenItem } from '@tidegate/protocol/enrolment-api';
import { CircleCheck, CircleX, Clock } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { TagList } from '../hosts/tag-list.tsx';
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
  expired: { tone: 'neutral', icon: <Clock /> },
};

/** How hosts join: registration tokens, and the command to run on a host. */
export function EnrolmentPage() {
  const { may } = useSession();
  return may('admin') ? (
    <Enrolment />
  ) : (
    <Page title="Add hosts">
      <EmptyState title="Only admins can add hosts">
        Ask an admin for the command to run on the host.
      </EmptyState>
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
    <Page title="Add hosts" lead="A host joins by one line, which holds a registration token.">
      <div className="space-y-4">
        <Panel title="New registration token">
          <NewTokenForm onCreated={setCreated} />
        </Panel>
        {created && <InstallPanel key={created.id} token={created} onClose={() => setCreated(null)} />}
        <ListTable
          list={list}
          query={query}
          noun="registration tokens"
          empty={<EmptyState title="No registration token yet">Create one above to add a host.</EmptyState>}
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
            toast('The token is withdrawn. Hosts that joined with it stay enrolled.');
          }}
        >
          <p className="break-words">
            “{withdrawing.label}” can no longer enrol hosts. Hosts that joined with it stay enrolled. This
            cannot be undone, but you can create another token.
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
      header: 'Hosts enrolled',
      align: 'right',
      cell: ({ seats, seats_used: used }) => `${used.toLocaleString('en')} of ${seats.toLocaleString('en')}`,
    },
    {
      id: 'group',
      header: 'Group',
      cell: ({ group }) => group ?? <span className="text-muted">none</span>,
    },
    { id: 'tags', header: 'Tags', cell: ({ tags }) => <TagList tags={tags} /> },
    { id: 'expires_at', header: 'Expires', cell: (token) => <Time at={token.expires_at} /> },
    { id: 'created_by', header: 'Created by', cell: (token) => token.created_by },
    { id: 'created_at', header: 'Created', cell: (token) => <Time at={token.created_at} /> },
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
