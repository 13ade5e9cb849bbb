import { useQuery } from '@tanstack/react-query';
import type { SecondFactor } from '@tidegate/protocol/factors-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Operator } from '@tidegate/protocol/operators-api';
import type { Role } from '@tidegate/protocol/states';
import { Ban, CircleCheck, Ellipsis, ShieldCheck, ShieldOff, UserPlus } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { patch, post, remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Menu } from '../ui/menu.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { reachOf } from './access-rules.ts';
import { AccountsDialog } from './accounts-dialog.tsx';
import { OperatorDialog } from './operator-dialog.tsx';
import { EndSessionsDialog } from './who-is-in.tsx';

const PATH = '/api/v1/admin/operators';
const FILTERS = ['q'] as const;

type Open =
  | { readonly kind: 'add' }
  | {
      readonly kind: 'edit' | 'delete' | 'reset' | 'accounts' | 'end-sessions' | 'disable-self';
      readonly operator: Operator;
    };

/** The people: add, set role and groups, disable, delete. */
export function Operators() {
  const list = useListSearch(FILTERS);
  const query = useQuery(listQuery<Operator>('operators', PATH, list.query));
  const { session } = useSession();
  const [open, setOpen] = useState<Open | null>(null);
  const own = session?.operator.id ?? null;
  const columns = useMemo(() => columnsOf({ own, open: setOpen }), [own]);
  const close = () => setOpen(null);
  return (
    <>
      <ListTable
        list={list}
        query={query}
        noun="operators"
        empty={<EmptyState title="No operators" />}
        toolbar={
          <SearchBox
            label="Name"
            value={list.filter.q ?? ''}
            onSearch={(q) => list.setFilter({ q: q || undefined })}
          />
        }
        title="People"
        act={
          <Button
            tone="primary"
            icon={<UserPlus aria-hidden="true" className="size-4" />}
            onClick={() => setOpen({ kind: 'add' })}
          >
            Add an operator
          </Button>
        }
        label="Operators"
        columns={columns}
        rowId={({ id }) => id}
      />
      {open?.kind === 'add' && (
        <OperatorDialog
          operator={null}
          onSave={(asked) => change(() => post<Operator>(PATH, asked))}
          onClose={close}
        />
      )}
      {open?.kind === 'edit' && (
        <OperatorDialog
          operator={open.operator}
          onSave={(asked) => change(() => patch<Operator>(`${PATH}/${open.operator.id}`, asked))}
          onClose={close}
        />
      )}
      {open?.kind === 'accounts' && <AccountsDialog operator={open.operator} onClose={close} />}
      {open?.kind === 'end-sessions' && (
        <EndSessionsDialog operator={open.operator} isOwn={open.operator.id === own} onClose={close} />
      )}
      {open?.kind === 'disable-self' && (
        <ConfirmDialog
          title="Disable yourself?"
          confirm="Disable"
          onConfirm={() => setDisabled(open.operator, true)}
          onClose={close}
        >
          <p>
            You are logged out at once, and your API tokens stop. Only another admin can enable you again.
          </p>
        </ConfirmDialog>
      )}
      {open?.kind === 'delete' && (
        <ConfirmDialog
          title={`Delete ${isolated(open.operator.username)}?`}
          confirm="Delete"
          typed={open.operator.username}
          onConfirm={() => change(() => remove(`${PATH}/${open.operator.id}`))}
          onClose={close}
        >
          {open.operator.id === own && <p>This is you: you are logged out at once.</p>}
          <p>
            Their sessions and API tokens end now. What they did stays in the events. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
      {open?.kind === 'reset' && (
        <ConfirmDialog
          title={`Remove all second factors of ${isolated(open.operator.username)}?`}
          confirm="Remove"
          onConfirm={() => change(() => remove(`${PATH}/${open.operator.id}/factors`))}
          onClose={close}
        >
          <p>
            Do this if they lost their factors. Their sessions and API tokens end too. Their password alone
            logs them in until they add a factor again.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

async function change<T>(act: () => Promise<T>): Promise<T> {
  const answer = await withStepUp(act);
  // Who is disabled, deleted or reset is not in any more either.
  await Promise.all(
    ['operators', 'session'].map((topic) => queryClient.invalidateQueries({ queryKey: [topic] })),
  );
  return answer;
}

const disable = (id: string, disabled: boolean) =>
  change(() => patch<Operator>(`${PATH}/${id}`, { disabled }));

async function setDisabled({ id, username }: Operator, disabled: boolean): Promise<void> {
  await disable(id, disabled);
  const undo = { label: 'Undo', run: () => void attempt(() => disable(id, !disabled)) };
  toast(`${isolated(username)} is ${disabled ? 'disabled' : 'enabled'}.`, { action: undo });
}

const TONES: Readonly<Record<Role, 'accent' | 'neutral'>> = {
  admin: 'accent',
  approver: 'accent',
  viewer: 'neutral',
};

function columnsOf({
  own,
  open,
}: {
  own: string | null;
  open: (next: Open) => void;
}): readonly Column<Operator>[] {
  return [
    {
      id: 'username',
      header: 'Name',
      wide: true,
      cell: ({ username, id }) => (
        <>
          <bdi>{username}</bdi> {id === own && <span className="text-muted">(you)</span>}
        </>
      ),
    },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      cell: ({ disabled }) =>
        disabled ? (
          <Badge tone="warn" icon={<Ban />}>
            disabled
          </Badge>
        ) : (
          <Badge tone="good" icon={<CircleCheck />}>
            active
          </Badge>
        ),
    },
    { id: 'role', header: 'Role', cell: ({ role }) => <Badge tone={TONES[role]}>{role}</Badge> },
    { id: 'groups', header: 'Can see', cell: ({ groups }) => reachOf(groups) },
    {
      id: 'second_factors',
      header: 'Second factor',
      cell: ({ second_factors }) => <SecondFactors factors={second_factors} />,
    },
    { id: 'created_at', header: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
    {
      id: 'acts',
      header: 'Actions',
      cell: (operator) => (
        <Menu
          actions={actionsOf(operator, { own, open })}
          trigger={
            <IconButton word="Actions" label={`Actions for ${isolated(operator.username)}`}>
              <Ellipsis aria-hidden="true" className="size-4" />
            </IconButton>
          }
        />
      ),
    },
  ];
}

const FACTOR_WORDS: Readonly<Record<SecondFactor, string>> = { totp: 'app', passkey: 'passkey' };

/** Operators without a second factor are marked by a word and a shape. */
function SecondFactors({ factors }: { factors: readonly SecondFactor[] }) {
  return factors.length === 0 ? (
    <Badge tone="warn" icon={<ShieldOff />}>
      no second factor
    </Badge>
  ) : (
    <Badge tone="good" icon={<ShieldCheck />}>
      {factors.map((factor) => FACTOR_WORDS[factor]).join(' and ')}
    </Badge>
  );
}

function actionsOf(
  operator: Operator,
  { own, open }: { own: string | null; open: (next: Open) => void },
): readonly Action[] {
  const group = operator.username;
  const isOwn = operator.id === own;
  return [
    {
      id: 'edit',
      group,
      label: 'Change role, groups or password',
      isAllowed: true,
      run: () => open({ kind: 'edit', operator }),
    },
    {
      id: 'disable',
      group,
      label: operator.disabled ? 'Enable' : 'Disable',
      isAllowed: true,
      run: () =>
        isOwn
          ? open({ kind: 'disable-self', operator })
          : void attempt(() => setDisabled(operator, !operator.disabled)),
    },
    {
      id: 'end-sessions',
      group,
      label: isOwn ? 'End all other sessions' : 'End all sessions',
      isAllowed: true,
      run: () => open({ kind: 'end-sessions', operator }),
    },
    {
      id: 'reset',
      group,
      label: 'Remove second factors',
      isAllowed: true,
      run: () => open({ kind: 'reset', operator }),
    },
    {
      id: 'accounts',
      group,
      label: 'Accounts of identity providers',
      isAllowed: true,
      run: () => open({ kind: 'accounts', operator }),
    },
    { id: 'delete', group, label: 'Delete', isAllowed: true, run: () => open({ kind: 'delete', operator }) },
  ];
}
