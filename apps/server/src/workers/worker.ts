import type { ServerResponse } from 'node:http';
import { createAccessTokens } from '../agent-credentials/access-tokens.ts';
import { createAgentDoor } from '../agents/agent-door.ts';
import { cacheSizes } from '../agents/cache-sizes.ts';
import { createCallerReader } from '../agents/read-callers.ts';
import { shedAgents } from '../agents/shed-agents.ts';
import { createPlainCheckIn, IDLE_ANSWER } from '../check-in/plain-check-in.ts';
import { systemClock } from '../platform/clock.ts';
import { openReads } from '../platform/db/open.ts';
import { beginYoung } from '../platform/heap.ts';
import { boundConnections, forwardedMax } from '../platform/http/bound-connections.ts';
import { installClientFaults } from '../platform/http/client-faults.ts';
import { createForward } from '../platform/http/forward.ts';
import { createKnownPaths } from '../platform/http/known-paths.ts';
import { addressesOf, listenMore, listenOnOthers, SHARES_PORTS } from '../platform/http/listeners.ts';
import { createNodeServer, type PlainRoute } from '../platform/http/server.ts';
import { systemRandom } from '../platform/ids.ts';
import { createLog, type Log } from '../platform/log.ts';
import { watchRequests } from '../platform/slow-log.ts';
import { createLimiter } from '../rate-limits/limiter.ts';
import { createPresentedCertificate } from '../tls/presented-certificate.ts';
import { type FromWorker, type Now, type Start, type ToWorker, toWorker } from './messages.ts';
import { createReports } from './reports.ts';
import { createWatched } from './watched.ts';

/**
 * The program of a worker: it answers check-ins without news as the server does, with the same door and the same reads, and
 * forwards every other request to the server. It holds no signing key and writes nothing. It ends with the server.
 */

/** An older state document is not sent to hosts, in milliseconds; the server tells a new one every second. */
const STATE_MAX_AGE_MS = 3_000;
/** How long requests under way may go on when the worker stops, in milliseconds. */
const STOP_MAX_MS = 5_000;

process.umask(0o077);
beginYoung();
// The server ends the worker: signals for the whole group must not end it before.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit(0));
process.once('message', (message: unknown) => {
  const first = read(message);
  if (first.kind !== 'start') throw new Error('the first message starts the worker');
  void work(first);
});

function read(message: unknown): ToWorker {
  if (!toWorker.Check(message)) throw new Error('the message of the server is not valid');
  return message;
}

function tell(message: FromWorker): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Without the server there is nobody to tell: the worker ends.
  process.send?.(message, undefined, undefined, () => resolve());
  return promise;
}

async function work(start: Start): Promise<void> {
  const [now, random] = [systemClock, systemRandom];
  const { worker } = start;
  const lines = createLog({
    ...{ level: start.logLevel, format: start.logFormat, now },
    write: (line) => process.stdout.write(`${line}\n`),
  });
  const log: Pick<Log, 'warn'> = { warn: (message, fields) => lines.warn(message, { ...fields, worker }) };
  let current: { now: Now; atMs: number } | null = null;
  let isStopping = false;

  const connections = boundConnections({
    ...{ log, isForwarding: true },
    isDraining: () => isStopping || current?.now.isDraining === true,
  });
  const reports = createReports({
    send: tell,
    facts: () => ({
      connections: connections.counts(),
      cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
      residentBytes: process.memoryUsage.rss(),
    }),
  });
  const watched = createWatched(now);
  const database = openReads(start, {
    onError: (error) => log.warn('database connection lost', { cause: error.message }),
  });
  const limiter = createLimiter({
    ...{ now, random, bootedAt: now() },
    budgets: { of: () => current?.now.budget ?? NOTHING },
  });
  const door = createAgentDoor({
    config: { minAgentVersion: start.minAgentVersion },
    limiter,
    accessTokens: createAccessTokens({
      ...{ secret: Buffer.from(start.accessTokens, 'hex'), now, random },
      verifiedMaxBytes: cacheSizes(start.agentCacheMb).verifiedMaxBytes,
    }),
    readCaller: createCallerReader(database),
  });
  const freshState = () =>
    current !== null && performance.now() - current.atMs < STATE_MAX_AGE_MS ? current.now.state : null;
  const plainCheckIn = createPlainCheckIn({
    ...{ platform: { now, random }, door },
    keyRing: {
      freshState,
      state: async () => {
        throw new Error('the server has told no state');
      },
    },
    lastSeen: {
      record: (agentId, nowMs, intervalSeconds, socketAddress) =>
        reports.record([agentId, nowMs, intervalSeconds, socketAddress ?? null]),
    },
    addresses: { isUnchanged: (agentId) => !watched.has(agentId) },
    answered: start.hasMetrics ? ({ tookMs }) => reports.took(tookMs) : null,
  });
  const plainRoute: PlainRoute = (request, response, next) => {
    const mayAnswer = current !== null && current.now.budget.requests > 0 && !reports.isFull();
    if (mayAnswer) plainCheckIn(request, response, next);
    else next(request, response);
  };

  const presented = start.isEncrypted ? createPresentedCertificate(null) : null;
  const paths = createKnownPaths();
  paths.add({ method: 'POST', url: IDLE_ANSWER.route });
  /** The server tells of those that are slow. */
  const forwarded = new WeakSet<ServerResponse>();
  const forward = createForward({
    ...{ path: start.socket, most: Math.ceil(forwardedMax() / (start.processes - 1)) },
  });
  const elapsedMs = () => performance.now();
  const server = createNodeServer(
    {
      ...{ plainRoute, connections, tls: presented },
      watch: watchRequests({ thresholdMs: start.logSlowRequestMs, log, elapsedMs }),
      shedding: shedAgents({
        ...{ log, random, processes: start.processes },
        answered: start.hasMetrics ? ({ route, tookMs }) => reports.refused(route, tookMs) : null,
      }),
    },
    {
      next(request, response) {
        forwarded.add(response);
        forward(request, response);
      },
      isClosing: () => isStopping,
      known: { paths, untimed: forwarded },
    },
  );
  installClientFaults({ server });

  async function listen(): Promise<void> {
    const { host, port } = start;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    server.listen({ host, port, reusePort: true }, resolve);
    await promise;
    if (SHARES_PORTS) await listenMore(server);
    if (host === 'localhost') await listenOnOthers(server, await addressesOf(host), { reusePort: true });
    await tell({ kind: 'listening' });
  }

  async function stop(): Promise<void> {
    isStopping = true;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeIdleConnections();
    const timer = setTimeout(() => server.closeAllConnections(), STOP_MAX_MS);
    await closed;
    clearTimeout(timer);
    await reports.stop();
    await database.close();
    process.exit(0);
  }

  let isListening = false;
  function follow(message: ToWorker): void {
    switch (message.kind) {
      case 'start':
        throw new Error('the worker has started');
      case 'certificate':
        presented?.follow(message);
        break;
      case 'now':
        current = { now: message, atMs: performance.now() };
        if (!isListening) void listen();
        isListening = true;
        break;
      case 'watch':
        watched.add(message.agentIds);
        break;
      case 'stop':
        void stop();
    }
  }
  process.on('message', (message: unknown) => follow(read(message)));
}

/** Until the server has told the budget, it answers itself. */
const NOTHING = { requests: 0, windowSeconds: 1, enabled: true };
