import { type AdvisoryCheck, Health } from '@tidegate/protocol/health-api';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { createDatabaseProbe } from './probe-database.ts';

export interface HealthDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  version: string;
  bootedAt: number;
  advisories: () => AdvisoryCheck;
}

/** States in which approvals stop, or pass unchecked. */
const DEGRADED: ReadonlySet<AdvisoryCheck> = new Set(['stale', 'missing', 'unreachable']);

/** E6: status and version, and nothing that would help an attacker. */
export function mountHealth(routes: Routes, { platform, version, bootedAt, advisories }: HealthDeps): void {
  const probe = createDatabaseProbe(platform);
  routes.public({
    method: 'GET',
    url: '/api/health',
    access: { limit: null },
    schema: { tags: ['service'], summary: 'Health and version (E6)', response: { 200: Health } },
    handler: async (): Promise<Health> => {
      const checks = { database: await probe(), advisories: advisories() };
      const isDegraded = checks.database === 'down' || DEGRADED.has(checks.advisories);
      const uptimeSeconds = Math.max(0, Math.floor((platform.now() - bootedAt) / 1_000));
      return { status: isDegraded ? 'degraded' : 'ok', version, uptime_seconds: uptimeSeconds, checks };
    },
  });
}
