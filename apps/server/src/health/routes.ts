import { type AdvisoryCheck, Health, Ready } from '@tidegate/protocol/health-api';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { createDatabaseProbe, type DatabaseState } from './probe-database.ts';

export interface HealthDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  version: string;
  schemaVersion: number;
  bootedAt: number;
  advisories: () => AdvisoryCheck;
  /** Whether the server is about to stop. */
  isDraining: () => boolean;
  /** Whether each worker answers; absent: there are none. */
  areWorkersReady?: () => boolean;
}

/** States in which approvals stop, or pass unchecked. */
const DEGRADED: ReadonlySet<AdvisoryCheck> = new Set(['stale', 'missing', 'unreachable']);

const RETRY_AFTER_SECONDS = 5;

/**
 * E6: status and version, and nothing that would help an attacker. Health says that the process lives: a restart helps against
 * nothing that it tells of. Readiness says whether to send requests here.
 */
export function mountHealth(routes: Routes, deps: HealthDeps): void {
  const { platform, version, schemaVersion, bootedAt, advisories, isDraining, areWorkersReady } = deps;
  const probe = createDatabaseProbe({ ...platform, schemaVersion });
  routes.public({
    method: 'GET',
    url: '/api/health',
    access: { limit: null },
    schema: { tags: ['service'], summary: 'Health and version', response: { 200: Health } },
    handler: async (): Promise<Health> => {
      const database = (await probe()) === 'down' ? ('down' as const) : ('ok' as const);
      const checks = { database, advisories: advisories() };
      const isDegraded = checks.database === 'down' || DEGRADED.has(checks.advisories);
      const uptimeSeconds = Math.max(0, Math.floor((platform.now() - bootedAt) / 1_000));
      return { status: isDegraded ? 'degraded' : 'ok', version, uptime_seconds: uptimeSeconds, checks };
    },
  });
  routes.public({
    method: 'GET',
    url: '/api/ready',
    access: { limit: null },
    schema: {
      tags: ['service'],
      summary: 'Whether to send requests to this server',
      response: { 200: Ready },
      refuses: ['unavailable'],
    },
    handler: async (): Promise<Ready> => {
      const detail = whyNotReady({
        ...{ database: await probe(), isDraining: isDraining() },
        areWorkersReady: areWorkersReady?.() ?? true,
      });
      if (detail === null) return { status: 'ready' };
      throw new Refusal('unavailable', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
    },
  });
}

function whyNotReady({
  database,
  isDraining,
  areWorkersReady,
}: {
  database: DatabaseState;
  isDraining: boolean;
  areWorkersReady: boolean;
}): string | null {
  if (isDraining) return 'The server is about to stop.';
  if (!areWorkersReady) return 'A worker of this server is starting.';
  switch (database) {
    case 'down':
      return 'The database cannot be reached or takes no writes.';
    case 'newer':
      return 'A newer release has upgraded the database: start that release here too.';
    case 'ok':
      return null;
  }
}
