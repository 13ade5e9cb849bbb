import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { Origin } from '@tidegate/protocol/origins-api';
import { Ban, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { Standing } from '../ui/standing.tsx';
import { EmptyState } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';
import { AddOrigin } from './add-origin.tsx';
import { ORIGINS, prefillOf, ruleText } from './origin-rules.ts';

const NO_FILTERS: readonly never[] = [];

/** Third-party repositories that an admin registered by key and suites, in force and ended. */
export function OriginsPage() {
  const list = useListSearch(NO_FILTERS);
  const { may } = useSession();
  const isAdmin = may('admin');
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const prefill = prefillOf(search);
  const [isAdding, setAdding] = useState(prefill !== null);
  const [revoking, setRevoking] = useState<Origin | null>(null);
  const columns = useMemo(() => columnsOf(isAdmin ? setRevoking : null), [isAdmin]);
  const query = useQuery(listQuery<Origin>('updates', ORIGINS, list.query));
  const add = isAdmin && (
    <Button
      tone="primary"
      onClick={() => setAdding(true)}
      icon={<Plus aria-hidden="true" className="size-4" />}
    >
      Register an origin
    </Button>
  );
  return (
    <Page
      title="Third-party origins"
      lead={
        <>
          Repositories that no vulnerability database covers, such as Docker&apos;s or your own, and what the{' '}
          <Term of="gate">gate</Term> does about their packages.
        </>
      }
      actions={add}
    >
      {prefill !== null && !isAdmin && (
        <p role="status" className="mb-3 rounded-lg border border-line bg-surface px-4 py-2">
          Only an admin can register <span className="mono">{prefill.suites.join(', ')}</span>.
        </p>
      )}
      <ListTable
        list={list}
        query={query}
        noun="origins"
        empty={
          <EmptyState title="No registered origins" action={<Link to="/updates">See the updates</Link>}>
            Updates from repositories that are not the distribution's are stopped, because no database knows
            their vulnerabilities. If you trust a repository, register its signing key; the page of a stopped
            update links here.
          </EmptyState>
        }
        label="Third-party origins"
        columns={columns}
        rowId={idOf}
      />
      {isAdding && isAdmin && <AddOrigin prefill={prefill} onClose={() => setAdding(false)} />}
      {revoking && <RevokeOrigin origin={revoking} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

/** Letters of a fingerprint that are shown: its end, as gpg and apt name keys. */
const SHOWN_OF_KEY = 16;

const idOf = ({ id }: Origin) => id;

function columnsOf(onRevoke: ((origin: Origin) => void) | null): readonly Column<Origin>[] {
  const columns: readonly Column<Origin>[] = [
    {
      id: 'suites',
      header: 'Suites',
      folds: true,
      cell: ({ suites }) => <span className="font-medium">{suites.join(', ')}</span>,
    },
    { id: 'state', header: 'State', part: 'pinned', folds: true, cell: (origin) => <Standing of={origin} /> },
    {
      id: 'key',
      header: 'Signing key',
      cell: ({ key }) => <CopyText text={key} short={`…${key.slice(-SHOWN_OF_KEY)}`} label="Copy the key" />,
    },
    { id: 'rule', header: 'Rule', folds: true, cell: (origin) => ruleText(origin) },
    {
      id: 'reason',
      header: 'Reason',
      wide: true,
      wraps: true,
      cell: ({ reason }) => <span title={reason}>{reason}</span>,
    },
    {
      id: 'created_by',
      header: 'By',
      cell: (origin) => <ByWhom by={origin.created_by} at={origin.created_at} />,
    },
  ];
  if (onRevoke === null) return columns;
  const revoke: Column<Origin> = {
    id: 'revoke',
    header: 'Actions',
    cell: (origin) =>
      origin.state === 'in_force' && (
        <IconButton
          word="Revoke"
          label={`Revoke the registration of ${origin.suites.join(', ')}`}
          onClick={() => onRevoke(origin)}
        >
          <Ban aria-hidden="true" className="size-4" />
        </IconButton>
      ),
  };
  return [...columns, revoke];
}

function RevokeOrigin({ origin, onClose }: { origin: Origin; onClose: () => void }) {
  const named = origin.suites.join(', ');
  const revoke = async () => {
    await withStepUp(() => remove(`${ORIGINS}/${origin.id}`));
    toast(`The registration of ${isolated(named)} is revoked.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`Revoke the registration of ${isolated(named)}`}
      confirm="Revoke the registration"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>Updates from there stop again if they are not approved yet. Existing approvals stay valid.</p>
    </ConfirmDialog>
  );
}
