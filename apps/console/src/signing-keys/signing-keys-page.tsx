import { useQuery } from '@tanstack/react-query';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { Overview } from '@tidegate/protocol/overview-api';
import { Ban, Check, CircleDashed, Hourglass, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Query } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { HostsBehindDialog } from './hosts-behind-dialog.tsx';
import { AddKeyDialog, KEYS_PATH, RevokeKeyDialog, UseKeyDialog } from './key-dialogs.tsx';
import { keySetQuery } from './key-set-query.ts';
import { readinessText } from './key-set-rules.ts';
import { RootPanel } from './root-panel.tsx';
import type { SigningKey } from './signing-key.ts';

type Open = { act: 'use' | 'revoke'; signingKey: SigningKey } | { act: 'add' } | { act: 'behind' } | null;

const FILTERS = ['due'] as const;
const FILTER_WORDS = { due: 'in use for more than a year' };
const SHORT = 16;

/** The keys that sign for the fleet: add one, wait until the hosts hold it, use it, revoke the old one. */
export function SigningKeysPage() {
  const { may } = useSession();
  const isAdmin = may('admin');
  const list = useListSearch(FILTERS);
  const [open, setOpen] = useState<Open>(null);
  const query = useQuery(listQuery<SigningKey>('keys', KEYS_PATH, list.query));
  const keySet = useQuery(keySetQuery);
  const hosts = useFleetSize();
  const columns = useMemo(() => columnsOf({ hosts, isAdmin, onOpen: setOpen }), [hosts, isAdmin]);
  return (
    <Page
      title="Signing keys"
      lead={
        <>
          <Term of="signingKey">Signing keys</Term> are rotated in this order: add a key, wait until the hosts
          hold it, sign with it, revoke the old one.
        </>
      }
      actions={
        <>
          {keySet.data && <Button onClick={() => setOpen({ act: 'behind' })}>Which hosts are behind?</Button>}
          {isAdmin && (
            <Button
              tone="primary"
              icon={<Plus aria-hidden="true" className="size-4" />}
              onClick={() => setOpen({ act: 'add' })}
            >
              Add a key
            </Button>
          )}
        </>
      }
    >
      <div className="space-y-4">
        <ListTable
          list={list}
          query={query}
          noun="signing keys"
          empty={<EmptyState title="No signing key yet" />}
          toolbar={
            list.isFiltered && (
              <FilterChips
                filter={list.filter}
                words={FILTER_WORDS}
                onRemove={(name) => list.setFilter({ [name]: undefined })}
              />
            )
          }
          label="Signing keys"
          columns={columns}
          rowId={idOf}
        />
        <RootPanel />
      </div>
      {open?.act === 'add' && <AddKeyDialog onClose={() => setOpen(null)} />}
      {open?.act === 'use' && (
        <UseKeyDialog signingKey={open.signingKey} hosts={hosts} onClose={() => setOpen(null)} />
      )}
      {open?.act === 'revoke' && (
        <RevokeKeyDialog signingKey={open.signingKey} hosts={hosts} onClose={() => setOpen(null)} />
      )}
      {open?.act === 'behind' && keySet.data && (
        <HostsBehindDialog newest={keySet.data.version} onClose={() => setOpen(null)} />
      )}
    </Page>
  );
}

const idOf = (key: SigningKey) => key.key_id;

/**
 * The number of hosts that are not revoked and so must hold a key; null until known. Lists cap their count at some
 * thousands; beyond that the slightly older count of the overview is used.
 */
function useFleetSize(): number | null {
  const agents = (filter: Query) => listQuery<AgentItem>('hosts', '/api/v1/agents', { ...filter, limit: 1 });
  const { data: all } = useQuery(agents({}));
  const { data: revoked } = useQuery(agents({ status: 'revoked' }));
  const isLarge = all?.total_is_capped === true;
  const overview = oneQuery<Overview>('overview', '/api/v1/overview');
  const { data } = useQuery({ ...overview, enabled: isLarge });
  if (isLarge) return data ? data.totals.hosts.count - data.totals.hosts_revoked.count : null;
  return all && revoked ? all.total - revoked.total : null;
}

function columnsOf({
  hosts,
  isAdmin,
  onOpen,
}: {
  hosts: number | null;
  isAdmin: boolean;
  onOpen: (open: Open) => void;
}): readonly Column<SigningKey>[] {
  return [
    { id: 'version', header: 'Key', align: 'right', cell: ({ version }) => version },
    { id: 'status', header: 'Status', part: 'pinned', cell: (key) => <KeyStatus signingKey={key} /> },
    {
      id: 'trusted_by',
      header: 'Readiness',
      wide: true,
      cell: (key) => <Readiness signingKey={key} hosts={hosts} />,
    },
    {
      id: 'public_key_hex',
      header: 'Public key',
      cell: ({ public_key_hex: hex }) => (
        <CopyText text={hex} short={`${hex.slice(0, SHORT)}…`} label="Copy the public key" />
      ),
    },
    { id: 'created_at', header: 'Added', cell: (key) => <Time at={key.created_at} /> },
    { id: 'revoked_at', header: 'Revoked', cell: (key) => <Time at={key.revoked_at} /> },
    ...(isAdmin
      ? [
          {
            id: 'verbs',
            header: 'Actions',
            cell: (signingKey: SigningKey) => <Verbs signingKey={signingKey} onOpen={onOpen} />,
          },
        ]
      : []),
  ];
}

function KeyStatus({ signingKey: key }: { signingKey: SigningKey }) {
  if (key.status === 'revoked')
    return (
      <Badge tone="bad" icon={<Ban />}>
        revoked
      </Badge>
    );
  if (key.awaits_root)
    return (
      <Badge tone="warn" icon={<Hourglass />}>
        waits for the root
      </Badge>
    );
  return key.in_use ? (
    <Badge tone="good" icon={<Check />}>
      signs
    </Badge>
  ) : (
    <Badge tone="neutral" icon={<CircleDashed />}>
      active, does not sign
    </Badge>
  );
}

function Readiness({ signingKey: key, hosts }: { signingKey: SigningKey; hosts: number | null }) {
  if (key.status === 'revoked') return <None word="–" />;
  if (hosts === null) return <span className="text-muted">{key.trusted_by} hosts hold it</span>;
  return (
    <span className="inline-flex items-center gap-2">
      <progress
        className="h-2 w-28"
        aria-label={`Hosts that hold key ${key.version}`}
        max={Math.max(hosts, 1)}
        value={Math.min(key.trusted_by, hosts)}
      />
      {readinessText(key.trusted_by, hosts)}
    </span>
  );
}

function Verbs({ signingKey, onOpen }: { signingKey: SigningKey; onOpen: (open: Open) => void }) {
  const { version, status, in_use: inUse, awaits_root: awaitsRoot } = signingKey;
  if (status === 'revoked' || inUse) return null;
  return (
    <span className="inline-flex gap-1">
      {!awaitsRoot && (
        <Button
          tone="quiet"
          aria-label={`Sign with it: key ${version}`}
          onClick={() => onOpen({ act: 'use', signingKey })}
        >
          Sign with it
        </Button>
      )}
      <Button
        tone="quiet"
        aria-label={`Revoke key ${version}`}
        onClick={() => onOpen({ act: 'revoke', signingKey })}
      >
        Revoke
      </Button>
    </span>
  );
}
