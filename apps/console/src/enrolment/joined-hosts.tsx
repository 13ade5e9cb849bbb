import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { CircleCheck, LoaderCircle } from 'lucide-react';
import { useEffect } from 'react';
import { listQuery, oneQuery, queryClient } from '../api/queries.ts';
import type { EventItem } from '../events/event-item.ts';
import { type Joined, joinedWith } from './enrolment-rules.ts';

/** The poll interval while the operator waits for a host, in milliseconds. */
const WAIT_POLL_MS = 2_000;
const EVENTS_MAX = 200;
const SHOWN_MAX = 20;

export interface WaitedFor {
  readonly id: string;
  readonly seats: number;
  readonly created_at: string;
}

/** Waits for a token's hosts and lists each as it joins. */
export function JoinedHosts({ token }: { token: WaitedFor }) {
  const filter = { type: 'AGENT_ENROLLED', since: token.created_at, limit: EVENTS_MAX };
  const { data } = useQuery({
    ...listQuery<EventItem>('events', '/api/v1/events', filter),
    refetchInterval: ({ state }) =>
      joinedWith(token.id, state.data?.items ?? []).length < token.seats ? WAIT_POLL_MS : false,
  });
  const joined = joinedWith(token.id, data?.items ?? []);
  const left = token.seats - joined.length;
  useEffect(() => {
    // Each host used a seat of the token.
    if (joined.length > 0) void queryClient.invalidateQueries({ queryKey: ['enrolment'] });
  }, [joined.length]);
  return (
    <div role="status" className="space-y-1.5 rounded-lg border border-line px-3 py-2.5">
      <Connections joined={joined.slice(-SHOWN_MAX)} />
      {joined.length > SHOWN_MAX && <p className="text-muted">{joined.length} hosts in all.</p>}
      {left > 0 && (
        <p className="flex items-center gap-2 text-muted">
          <LoaderCircle aria-hidden="true" className="size-4 animate-spin" />
          {joined.length === 0
            ? 'Waiting for the host. It appears here automatically.'
            : `Waiting for ${left} more ${left === 1 ? 'host' : 'hosts'}.`}
        </p>
      )}
    </div>
  );
}

/** An enrolled host counts as connected after its first check-in. */
function Connections({ joined }: { joined: readonly Joined[] }) {
  const hosts = useQueries({
    queries: joined.map(({ agentId }) => ({
      ...oneQuery<AgentItem>('hosts', `/api/v1/agents/${agentId}`),
      refetchInterval: ({ state }: { state: { data?: AgentItem | undefined } }) =>
        state.data?.last_seen_at ? false : WAIT_POLL_MS,
    })),
  });
  return joined.map(({ agentId, hostname }, i) => {
    const isConnected = hosts[i]?.data?.last_seen_at != null;
    return (
      <p key={agentId} className={`flex items-center gap-2 ${isConnected ? 'text-good' : ''}`}>
        {isConnected ? (
          <CircleCheck aria-hidden="true" className="size-4 shrink-0" />
        ) : (
          <LoaderCircle aria-hidden="true" className="size-4 shrink-0 animate-spin" />
        )}
        <span className="min-w-0 break-words">
          <Link to="/hosts/$id" params={{ id: agentId }} className="font-medium">
            {hostname}
          </Link>{' '}
          {isConnected ? 'connected' : 'enrolled; waiting for its first check-in'}
        </span>
      </p>
    );
  });
}
