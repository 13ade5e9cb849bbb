import { createAcceptWait } from '../platform/http/accept-wait.ts';
import { createLoadShedding, type Lane, type LoadShedding } from '../platform/http/shed-load.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';

const CHECK_IN = '/api/v1/agents/:agent_id/check-in';
const RENEWAL = '/api/v1/agents/renew';

/** What a whole fleet sends at once when it comes back. */
const AGENT_LANES: readonly Lane[] = [
  {
    ...{ name: 'check-ins', route: CHECK_IN, inProgressMax: 1_024 },
    has: ({ method, url }) =>
      method === 'POST' && url?.startsWith('/api/v1/agents/') === true && url.endsWith('/check-in'),
  },
  {
    ...{ name: 'renewals', route: RENEWAL, inProgressMax: 512 },
    has: ({ method, url }) => method === 'POST' && url === RENEWAL,
  },
];
/** Least time between two lines of the log about refusals. */
const TOLD_EVERY_MS = 60_000;

export interface Shedding {
  log: Pick<Log, 'warn'>;
  random: RandomBytes;
  /** Processes that accept connections on the port. */
  processes: number;
  /** Told of every refusal, for metrics; null measures nothing. */
  answered: ((answer: { route: string; statusCode: number; tookMs: number }) => void) | null;
}

/** Refuses check-ins and renewals while there are too many of them. */
export function shedAgents({ log, random, processes, answered }: Shedding): LoadShedding {
  const elapsedMs = () => performance.now();
  const refused = new Map<string, number>();
  let toldMs = Number.NEGATIVE_INFINITY;
  return createLoadShedding({
    ...{ lanes: AGENT_LANES, elapsedMs, random, acceptWait: createAcceptWait(elapsedMs, processes) },
    onRefused({ lane: { name, route }, tookMs }) {
      answered?.({ route, statusCode: 503, tookMs });
      refused.set(name, (refused.get(name) ?? 0) + 1);
      if (elapsedMs() - toldMs < TOLD_EVERY_MS) return;
      toldMs = elapsedMs();
      log.warn('requests of agents refused: too many at once', Object.fromEntries(refused));
      refused.clear();
    },
  });
}
