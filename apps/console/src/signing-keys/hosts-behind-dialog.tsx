import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { useState } from 'react';
import { fetchAll } from '../api/fetch-all.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

/** The most hosts that are checked. */
const LOOKED_AT_MAX = 10_000;
const SHOWN_MAX = 200;

const COLUMNS: readonly Column<AgentItem>[] = [
  {
    id: 'hostname',
    header: 'Host',
    wide: true,
    cell: ({ id, hostname }) => (
      <Link to="/hosts/$id" params={{ id }}>
        {hostname}
      </Link>
    ),
  },
  { id: 'key_set_version', header: 'Key set', align: 'right', cell: (host) => host.key_set_version },
  { id: 'last_seen_at', header: 'Last seen', cell: (host) => <Time at={host.last_seen_at} /> },
];

/** The hosts without the newest key set, which a rotation waits for. */
export function HostsBehindDialog({ newest, onClose }: { newest: number; onClose: () => void }) {
  const [progress, setProgress] = useState<{ fetched: number; total: number } | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['hosts', 'behind', newest],
    queryFn: async ({ signal }) => {
      const bounds = { max: LOOKED_AT_MAX, signal, onProgress: setProgress };
      const { items, isCut } = await fetchAll<AgentItem>('/api/v1/agents', {}, bounds);
      const behind = items.filter((host) => host.status !== 'revoked' && host.key_set_version < newest);
      return { behind, isCut };
    },
    refetchInterval: false,
  });
  return (
    <Dialog title={`Hosts without key set ${newest}`} onClose={onClose} wide>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!data && !error && (
        <div role="status">
          <progress
            className="w-full"
            aria-label="Hosts checked"
            max={progress?.total ?? 1}
            value={progress?.fetched ?? 0}
          />
          <p>
            {progress?.fetched.toLocaleString('en') ?? 0} of {progress?.total.toLocaleString('en') ?? '…'}{' '}
            hosts checked
          </p>
        </div>
      )}
      {data && <Behind behind={data.behind} isCut={data.isCut} />}
    </Dialog>
  );
}

function Behind({ behind, isCut }: { behind: readonly AgentItem[]; isCut: boolean }) {
  if (behind.length === 0)
    return (
      <p role="status">
        {isCut ? `None of the first ${LOOKED_AT_MAX} hosts is behind.` : 'No host is behind.'}
      </p>
    );
  return (
    <div className="space-y-2">
      <p role="status">
        {behind.length.toLocaleString('en')} hosts are behind
        {isCut && `, of the first ${LOOKED_AT_MAX.toLocaleString('en')}`}
        {behind.length > SHOWN_MAX && `; the first ${SHOWN_MAX} are shown`}. Each gets it at its next
        check-in.
      </p>
      <DataTable
        label="Hosts that are behind"
        columns={COLUMNS}
        rows={behind.slice(0, SHOWN_MAX)}
        rowId={({ id }) => id}
      />
    </div>
  );
}
