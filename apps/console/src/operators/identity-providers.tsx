import { useQuery } from '@tanstack/react-query';
import type { IdentityProvider } from '@tidegate/protocol/identity-providers-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleCheck, CirclePause, Ellipsis, LogIn } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { patch, post, remove } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { Menu } from '../ui/menu.tsx';
import { EmptyState } from '../ui/states.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { ProviderDialog } from './provider-dialog.tsx';
import { ProviderTestDialog } from './provider-test.tsx';

const PATH = '/api/v1/admin/identity-providers';
/** There are at most twenty. */
const ONE_PAGE = { isFirst: true, next: () => {}, back: () => {} };

type Open =
  | { readonly kind: 'add' }
  | { readonly kind: 'edit' | 'test' | 'delete'; readonly provider: IdentityProvider };

/** The identity providers that log operators in. */
export function IdentityProviders() {
  const query = useQuery(listQuery<IdentityProvider>('operators', PATH));
  const [open, setOpen] = useState<Open | null>(null);
  const columns = useMemo(() => columnsOf(setOpen), []);
  const close = () => setOpen(null);
  return (
    <>
      <ListPanel
        query={query}
        noun="identity providers"
        pager={ONE_PAGE}
        clearFilter={null}
        empty={
          <EmptyState title="No identity providers">
            With OpenID Connect (Entra, Keycloak, Authentik and others) people sign in as everywhere in your
            company, and their groups there decide what they may do here.
          </EmptyState>
        }
        title="Identity providers"
        act={
          <Button
            icon={<LogIn aria-hidden="true" className="size-4" />}
            onClick={() => setOpen({ kind: 'add' })}
          >
            Add identity provider
          </Button>
        }
      >
        {(items) => (
          <DataTable label="Identity providers" columns={columns} rows={items} rowId={({ id }) => id} />
        )}
      </ListPanel>
      {open?.kind === 'add' && (
        <ProviderDialog
          provider={null}
          onSave={(asked) => change(() => post<IdentityProvider>(PATH, asked))}
          onClose={close}
        />
      )}
      {open?.kind === 'edit' && (
        <ProviderDialog
          provider={open.provider}
          onSave={(asked) => change(() => patch<IdentityProvider>(`${PATH}/${open.provider.id}`, asked))}
          onClose={close}
        />
      )}
      {open?.kind === 'test' && <ProviderTestDialog provider={open.provider} onClose={close} />}
      {open?.kind === 'delete' && (
        <ConfirmDialog
          title={`Delete ${isolated(open.provider.name)}?`}
          confirm="Delete"
          typed={open.provider.id}
          onConfirm={() => change(() => remove(`${PATH}/${open.provider.id}`))}
          onClose={close}
        >
          <p>
            It logs nobody in any more: {open.provider.operators} operators lose their account there, and its
            sessions end. Operators without a password cannot log in until they have one. This cannot be
            undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

async function change<T>(act: () => Promise<T>): Promise<T> {
  const answer = await withStepUp(act);
  await queryClient.invalidateQueries({ queryKey: ['operators'] });
  return answer;
}

function columnsOf(open: (next: Open) => void): readonly Column<IdentityProvider>[] {
  return [
    { id: 'name', header: 'Name', wide: true, cell: ({ name }) => name },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      cell: ({ enabled }) =>
        enabled ? (
          <Badge tone="good" icon={<CircleCheck />}>
            on
          </Badge>
        ) : (
          <Badge tone="neutral" icon={<CirclePause />}>
            off
          </Badge>
        ),
    },
    { id: 'issuer', header: 'Issuer', cell: ({ issuer }) => <span className="break-all">{issuer}</span> },
    { id: 'mapping', header: 'Rules', cell: ({ mapping }) => mapping.length },
    { id: 'operators', header: 'Operators', cell: ({ operators }) => operators },
    {
      id: 'acts',
      header: 'Actions',
      cell: (provider) => (
        <Menu
          actions={actionsOf(provider, open)}
          trigger={
            <IconButton word="Actions" label={`Actions for ${isolated(provider.name)}`}>
              <Ellipsis aria-hidden="true" className="size-4" />
            </IconButton>
          }
        />
      ),
    },
  ];
}

function actionsOf(provider: IdentityProvider, open: (next: Open) => void): readonly Action[] {
  const { id, name, enabled } = provider;
  const action = (key: string, label: string, run: () => void): Action => ({
    ...{ id: key, group: name, label, isAllowed: true, run },
  });
  const turn = async () => {
    await change(() => patch<IdentityProvider>(`${PATH}/${id}`, { enabled: !enabled }));
    toast(enabled ? `${isolated(name)} is off; its sessions have ended.` : `${isolated(name)} is on.`);
  };
  return [
    action('test', 'Test', () => open({ kind: 'test', provider })),
    action('edit', 'Change', () => open({ kind: 'edit', provider })),
    action('turn', enabled ? 'Turn off' : 'Turn on', () => void attempt(turn)),
    action('delete', 'Delete', () => open({ kind: 'delete', provider })),
  ];
}
