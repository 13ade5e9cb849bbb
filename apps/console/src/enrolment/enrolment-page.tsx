import { useQuery } from '@tanstack/react-query';
import type { CreatedRegistrationToken, RegistrationTokenItem } from '@tidegate/protocol/enrolment-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleCheck, CircleX, Clock } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { TagList } from '../hosts/tag-list.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { TOKENS, type TokenState, tokenState } from './enrolment-rules.ts';
import { InstallPanel } from './install-panel.tsx';
import { NewTokenForm } from './new-token-form.tsx';

const FILTERS = ['ending'] as const;
const FILTER_WORDS = { ending: 'expires soon' };

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
  const list = useListSearch(FILTERS);
  const [created, setCreated] = useState<CreatedRegistrationToken | null>(null);
  const [withdrawing, setWithdrawing] = useState<RegistrationTokenItem | null>(null);
  const query = useQuery(listQuery<RegistrationTokenItem>('enrolment', TOKENS, list.query));
  const [renewed, setRenewed] = useState<RegistrationTokenItem | null>(null);
  const columns = useMemo(() => columnsOf({ onRenew: setRenewed, onWithdraw: setWithdrawing }), []);
  return (
    <Page
      title="Add hosts"
      lead={
        <>
          A host joins by one line, which holds a <Term of="token">registration token</Term>.
        </>
      }
    >
      <div className="space-y-4">
        <Panel
          title={renewed ? `Renew “${isolated(renewed.label)}”` : 'New registration token'}
          aside={renewed && <Button onClick={() => setRenewed(null)}>Cancel</Button>}
        >
          {renewed && (
            <p className="mb-3 text-muted">
              A new token for the hosts that are still to join takes the place of the old one, whose line no
              longer works then.
            </p>
          )}
          <NewTokenForm
            key={renewed?.id ?? 'new'}
            renewed={renewed}
            onCreated={(token) => {
              setRenewed(null);
              setCreated(token);
            }}
          />
        </Panel>
        {created && <InstallPanel key={created.id} token={created} onClose={() => setCreated(null)} />}
        <ListTable
          list={list}
          query={query}
          noun="registration tokens"
          empty={<EmptyState title="No registration token yet">Create one above to add a host.</EmptyState>}
          toolbar={
            list.isFiltered && (
              <FilterChips
                filter={list.filter}
                words={FILTER_WORDS}
                onRemove={(name) => list.setFilter({ [name]: undefined })}
              />
            )
          }
          label="Registration tokens"
          columns={columns}
          rowId={idOf}
        />
      </div>
      {withdrawing && (
        <EndToken
          token={withdrawing}
          onClose={() => setWithdrawing(null)}
          onEnded={() => setCreated((now) => (now?.id === withdrawing.id ? null : now))}
        />
      )}
    </Page>
  );
}

/** Withdraws a token that still lets hosts in; one that lets nobody in is only taken from the list. */
function EndToken({
  token,
  onClose,
  onEnded,
}: {
  token: RegistrationTokenItem;
  onClose: () => void;
  onEnded: () => void;
}) {
  const state = tokenState(token, useNow());
  const isOpen = state === 'open';
  return (
    <ConfirmDialog
      title={isOpen ? 'Withdraw the token' : 'Remove the token from the list'}
      confirm={isOpen ? 'Withdraw' : 'Remove'}
      onClose={onClose}
      onConfirm={async () => {
        await withStepUp(() => remove(`${TOKENS}/${token.id}`));
        void queryClient.invalidateQueries({ queryKey: ['enrolment'] });
        onEnded();
        toast(`The token is ${isOpen ? 'withdrawn' : 'removed'}. Hosts that joined with it stay enrolled.`);
      }}
    >
      <p className="break-words">
        “<bdi>{token.label}</bdi>” {isOpen ? 'can no longer enrol hosts' : ENDED_WORDS[state]}. Hosts that
        joined with it stay enrolled. This cannot be undone, but you can create another token.
      </p>
    </ConfirmDialog>
  );
}

const ENDED_WORDS = {
  expired: 'has expired and lets no host in',
  'used up': 'has let in all of its hosts',
} as const;

const idOf = (token: RegistrationTokenItem) => token.id;

interface TokenActs {
  readonly onRenew: (token: RegistrationTokenItem) => void;
  readonly onWithdraw: (token: RegistrationTokenItem) => void;
}

function columnsOf(acts: TokenActs): readonly Column<RegistrationTokenItem>[] {
  return [
    { id: 'label', header: 'Label', wide: true, cell: ({ label }) => label },
    { id: 'state', header: 'State', part: 'pinned', cell: (token) => <State token={token} /> },
    {
      id: 'seats',
      header: 'Hosts enrolled',
      align: 'right',
      cell: ({ seats, seats_used: used }) => `${used.toLocaleString('en')} of ${seats.toLocaleString('en')}`,
    },
    {
      id: 'group',
      header: 'Group',
      cell: ({ group }) => group ?? <None />,
    },
    { id: 'tags', header: 'Tags', cell: ({ tags }) => <TagList tags={tags} /> },
    { id: 'expires_at', header: 'Expires', cell: (token) => <Time at={token.expires_at} /> },
    {
      id: 'created_by',
      header: 'Created by',
      cell: (token) => <ByWhom by={token.created_by} at={token.created_at} />,
    },
    {
      id: 'verbs',
      header: 'Actions',
      cell: (token) => <Verbs token={token} {...acts} />,
    },
  ];
}

function Verbs({ token, onRenew, onWithdraw }: TokenActs & { token: RegistrationTokenItem }) {
  const state = tokenState(token, useNow());
  const verb = state === 'open' ? 'Withdraw' : 'Remove';
  return (
    <span className="flex gap-1">
      {token.seats > token.seats_used && (
        <Button tone="quiet" aria-label={`Renew ${isolated(token.label)}`} onClick={() => onRenew(token)}>
          Renew
        </Button>
      )}
      <Button tone="quiet" aria-label={`${verb} ${isolated(token.label)}`} onClick={() => onWithdraw(token)}>
        {verb}
      </Button>
    </span>
  );
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
