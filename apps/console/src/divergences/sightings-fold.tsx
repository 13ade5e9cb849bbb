import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ArtifactSightings } from '@tidegate/protocol/artifacts-api';
import { oneQuery } from '../api/queries.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Fold } from '../ui/fold.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const SHOWN_HASH = 12;

type Sighting = ArtifactSightings['items'][number];

const idOf = ({ hash, agent_id }: Sighting) => `${agent_id} ${hash}`;

const COLUMNS: readonly Column<Sighting>[] = [
  {
    id: 'host',
    header: 'Host',
    cell: ({ agent_id: id, hostname }) => (
      <Link to="/hosts/$id" params={{ id }}>
        {hostname ?? 'a deleted host'}
      </Link>
    ),
  },
  {
    id: 'hash',
    header: 'Hash',
    cell: ({ hash }) => (
      <CopyText text={hash} short={`${hash.slice(0, SHOWN_HASH)}…`} label="Copy the hash" />
    ),
  },
  { id: 'seen_at', header: 'When', cell: ({ seen_at: at }) => <Time at={at} /> },
  {
    id: 'counts',
    header: 'Counts',
    cell: ({ counts }) => (counts ? 'yes' : 'no: revoked, deleted or ignored'),
  },
];

/** Which host reported which hash and when, including reports that do not count. */
export function SightingsFold({ path }: { path: string }) {
  const { data, error, refetch } = useQuery(oneQuery<ArtifactSightings>('updates', `${path}/sightings`));
  return (
    <Fold summary="Who reported which hash">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton />}
      {data && (
        <div className="max-h-64 overflow-auto">
          <DataTable label="Who reported which hash" columns={COLUMNS} rows={data.items} rowId={idOf} />
        </div>
      )}
    </Fold>
  );
}
