import { useQuery } from '@tanstack/react-query';
import type { Health } from '@tidegate/protocol/health-api';
import { useConnection } from '../api/live.ts';
import { oneQuery } from '../api/queries.ts';

const CONNECTIONS = {
  live: ['bg-good', 'Live'],
  polling: ['bg-warn', 'Polling every 15 s'],
  offline: ['bg-bad', 'The server does not answer'],
} as const;

/** The connection state: whether the page follows the server. */
export function ConnectionLine() {
  const [colour, word] = CONNECTIONS[useConnection()];
  return (
    <span role="status" className="inline-flex min-w-0 items-center gap-1.5 text-[0.85rem] text-muted">
      <span aria-hidden="true" className={`size-2 shrink-0 rounded-full ${colour}`} />
      {word}
    </span>
  );
}

/** The server's version (E6), and whether it is degraded. */
export function VersionLine() {
  const { data } = useQuery(oneQuery<Health>('overview', '/api/health'));
  return (
    <span className="inline-flex items-center gap-x-2 text-[0.85rem] text-muted">
      <span>{data ? `v${data.version}` : ''}</span>
      {data?.status === 'degraded' && <span className="text-warn">degraded</span>}
    </span>
  );
}
