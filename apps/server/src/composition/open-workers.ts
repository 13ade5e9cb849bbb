import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Addresses } from '../check-in/addresses.ts';
import type { LastSeen } from '../check-in/last-seen.ts';
import { IDLE_ANSWER } from '../check-in/plain-check-in.ts';
import { forwardedMax } from '../platform/http/bound-connections.ts';
import { type Forwarded, SOCKET_PATH_MAX_BYTES, takeForwarded } from '../platform/http/forwarded.ts';
import type { App } from '../platform/http/server.ts';
import type { Budget } from '../rate-limits/budgets.ts';
import type { Now, Report } from '../workers/messages.ts';
import { superviseWorkers, type Workers, WorkersFault } from '../workers/supervise-workers.ts';
import type { Opening } from './parts.ts';

const SOCKET = 'workers.sock';

/** The processes beside the server that answer on its port too. */
export interface WorkersOfServer extends Workers {
  /** Takes what they forward, and starts them; resolves when all of them listen. */
  open(http: App, port: number): Promise<void>;
}

export interface Memories {
  lastSeen: LastSeen;
  addresses: Pick<Addresses, 'isUnchanged'>;
  budget: () => Budget;
}

/** Null where the server answers alone. */
export function openWorkers(
  opening: Opening,
  { lastSeen, addresses, budget }: Memories,
): WorkersOfServer | null {
  const { config, platform, secrets, keyRing, tls, counts, isDraining } = opening;
  const { log } = platform;
  const { workers: processes } = config;
  if (processes === 1) return null;
  const socket = join(config.dataDir, SOCKET);
  let forwarded: Forwarded | null = null;

  async function now(): Promise<Now> {
    // Requests are answered by the server while the state cannot be signed.
    const state = await keyRing.state().catch(() => null);
    return { kind: 'now', state, budget: budget(), isDraining: isDraining() };
  }

  function take({ checkIns, tookMs, refused }: Report): string[] {
    const moved: string[] = [];
    for (const [agentId, atMs, intervalSeconds, address] of checkIns) {
      lastSeen.record(agentId, atMs, intervalSeconds);
      if (!addresses.isUnchanged(agentId, address ?? undefined)) moved.push(agentId);
    }
    for (const ms of tookMs) counts?.answered({ ...IDLE_ANSWER, tookMs: ms });
    for (const [route, ms] of refused) counts?.answered({ route, statusCode: 503, tookMs: ms });
    return moved;
  }

  const workers = superviseWorkers({
    ...{ log, count: processes - 1, now, take, certificate: () => tls?.shared() ?? null },
    startOf: (worker, port) => ({
      ...{ kind: 'start', worker, processes, port, socket },
      ...{ host: config.host, dataDir: config.dataDir, databaseUrl: config.databaseUrl },
      accessTokens: secrets.accessTokens.toString('hex'),
      ...{ agentCacheMb: config.agentCacheMb, minAgentVersion: config.minAgentVersion },
      ...{ logLevel: config.logLevel, logFormat: config.logFormat },
      ...{ hasMetrics: counts !== null, isEncrypted: tls !== null },
      logSlowRequestMs: config.logSlowRequestMs,
    }),
  });

  return {
    ...workers,
    async open(http, port) {
      if (Buffer.byteLength(socket) > SOCKET_PATH_MAX_BYTES) {
        const most = SOCKET_PATH_MAX_BYTES - SOCKET.length - 1;
        throw new WorkersFault(
          `SERVICE_WORKERS is ${processes} and SERVICE_DATA_DIR is longer than ${most} bytes; allowed: 1, or a shorter path`,
        );
      }
      const cores = availableParallelism();
      if (processes > cores)
        log.warn('SERVICE_WORKERS is more than the cores of this machine', { processes, cores });
      forwarded = await takeForwarded(http.server, {
        ...{ path: socket, isEncrypted: tls !== null, connectionsMax: forwardedMax() },
      });
      await workers.start(port);
    },
    async stop() {
      await workers.stop();
      await forwarded?.close();
    },
  };
}
