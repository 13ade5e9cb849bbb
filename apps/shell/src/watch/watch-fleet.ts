import { setTimeout as pause } from 'node:timers/promises';
import { Overview } from '@tidegate/protocol/overview-api';
import { type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import { apiPath } from '../console/api-path.ts';
import { followStream } from '../console/follow-stream.ts';
import type { ServerConnection } from '../console/server-connection.ts';

/** How long changes are collected before the next request. */
const GATHER_MS = 2_000;
/** How often to check whether an operator has logged in. */
const SESSION_LOOK_MS = 2_000;
const EVENTS_PER_LOOK = 20;

const Waiting = Type.Pick(Overview, ['needs_me']);
const Events = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), type: Type.String(), created_at: Type.String() })),
});

export interface FleetWatch {
  /** How many updates are pending; null while unknown. */
  waiting(count: number | null): void;
  critical(event: { type: string; at: string }): void;
}

export interface WatchDeps {
  readonly connection: ServerConnection;
  readonly session: { isThere(): boolean };
  /** RFC 3339: earlier critical events are not reported. */
  readonly since: string;
}

/** Follows pending updates and critical events while an operator is logged in. */
export async function watchFleet(deps: WatchDeps, watch: FleetWatch, signal: AbortSignal): Promise<void> {
  const { connection, session, since } = deps;
  const reported = new Set<string>();

  async function ask<T extends TSchema>(path: string, schema: T): Promise<Type.Static<T> | null> {
    const answer = await connection
      .request({ method: 'GET', path: apiPath(path), headers: { accept: 'application/json' }, body: null })
      .catch(() => null);
    if (answer?.status !== 200) return null;
    const body: unknown = JSON.parse(answer.body);
    return Check(schema, body) ? body : null;
  }

  async function look(): Promise<void> {
    const overview = await ask('/api/v1/overview', Waiting);
    watch.waiting(overview === null ? null : sumOf(overview.needs_me.waiting));
    const query = new URLSearchParams({ severity: 'critical', since, limit: String(EVENTS_PER_LOOK) });
    const events = await ask(`/api/v1/events?${query}`, Events);
    for (const { id, type, created_at: at } of events?.items.toReversed() ?? []) {
      if (reported.has(id)) continue;
      reported.add(id);
      watch.critical({ type, at });
    }
  }

  /** Collects changes into one request, with never two requests at a time. */
  function createLooker(): () => void {
    let isDue = false;
    let isBusy = false;
    return async function due(): Promise<void> {
      isDue = true;
      if (isBusy) return;
      isBusy = true;
      while (isDue && !signal.aborted) {
        isDue = false;
        await look();
        await pause(GATHER_MS, undefined, { signal }).catch(() => {});
      }
      isBusy = false;
    };
  }

  const due = createLooker();
  const listener = {
    open: due,
    message: due,
    lost: () => watch.waiting(null),
    closed: () => watch.waiting(null),
  };
  while (!signal.aborted) {
    if (session.isThere()) await followStream(connection, apiPath('/api/v1/stream'), listener, signal);
    await pause(SESSION_LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

function sumOf(waiting: Overview['needs_me']['waiting']): number {
  return Object.values(waiting).reduce((sum, { count }) => sum + count, 0);
}
