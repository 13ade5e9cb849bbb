import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ArtifactSightings } from '@tidegate/protocol/artifacts-api';
import { oneQuery } from '../api/queries.ts';
import { Fold } from '../ui/fold.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const SHOWN_HASH = 12;

/** Which host reported which hash and when, including reports that do not count. */
export function SightingsFold({ path }: { path: string }) {
  const { data, error, refetch } = useQuery(oneQuery<ArtifactSightings>('updates', `${path}/sightings`));
  return (
    <Fold summary="Who reported which hash">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton />}
      {data && (
        <div className="max-h-64 overflow-auto">
          <table className="w-full text-left [&_td]:py-1 [&_td]:pr-4 [&_th]:pr-4">
            <caption className="sr-only">Who reported which hash</caption>
            <thead>
              <tr className="text-muted">
                <th scope="col">Host</th>
                <th scope="col">Hash</th>
                <th scope="col">When</th>
                <th scope="col">Counts</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map(({ hash, agent_id: agentId, hostname, counts, seen_at: at }) => (
                <tr key={`${agentId} ${hash}`}>
                  <td>
                    <Link to="/hosts/$id" params={{ id: agentId }}>
                      {hostname ?? 'a deleted host'}
                    </Link>
                  </td>
                  <td className="mono">{hash.slice(0, SHOWN_HASH)}…</td>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{counts ? 'yes' : 'no: revoked, deleted or ignored'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Fold>
  );
}
