import {
  HEARTBEAT_SLOT_MINUTES,
  Heartbeats,
  HISTORY_DAYS_MAX,
  type HistoryDay,
  Overview,
  OverviewHistory,
} from '@tidegate/protocol/overview-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { heartbeatsOf } from '../agents/heartbeat-rules.ts';
import { CHECK_IN_INTERVAL_SECONDS } from '../agents/presence.ts';
import { policyInForce } from '../approvals/vulnerability-policy.ts';
import type { Config } from '../config.ts';
import { rfc3339, rfc3339Day } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { firstDayOf } from './day-rules.ts';
import { type DayRow, daysSince, findBeats, servedSlots } from './history-store.ts';
import type { Snapshots } from './keep-snapshots.ts';
import { type AdvisoryState, overviewOf } from './overview-view.ts';

export interface OverviewDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  snapshots: Snapshots;
  advisories: () => AdvisoryState;
  config: Pick<Config, 'vulnerabilityPolicy'>;
}

const DAYS_DEFAULT = 30;
const tags = ['overview'];
const reads: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const HOUR_MS = 3_600_000;

/** The overview page, its history, and the heartbeats of a host. */
export function mountOverview(
  routes: Routes,
  { platform, snapshots, advisories, config }: OverviewDeps,
): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: '/api/v1/overview',
    access: reads,
    schema: {
      summary: 'What needs attention, what changed, and which data may be stale or wrong',
      tags,
      response: { 200: Overview },
    },
    handler: async ({ operator }) => {
      const { groups: scope, role } = operator;
      const isFleetAdmin = scope === null && role === 'admin';
      const { policy } = await policyInForce(database.read, { config });
      return overviewOf(await snapshots.of(scope), { isFleetAdmin, policy, advisories: advisories() });
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/overview/history',
    access: reads,
    schema: {
      summary: 'The fleet day by day, oldest first',
      tags,
      querystring: strict({
        days: Type.Optional(
          Type.String({
            pattern: '^([1-9][0-9]?|[123][0-9]{2}|400)$',
            description: `1 to ${HISTORY_DAYS_MAX}; default ${DAYS_DEFAULT}`,
          }),
        ),
      }),
      response: { 200: OverviewHistory },
    },
    handler: async ({ operator, query }) => {
      // History exists only for the whole fleet.
      if (operator.groups !== null) return { items: [] };
      const nowMs = platform.now();
      const first = firstDayOf(nowMs, Number(query.days ?? DAYS_DEFAULT));
      const today = rfc3339Day(nowMs);
      return { items: (await daysSince(database.read, first)).map((row) => dayView(row, today)) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/heartbeats',
    access: { ...reads, reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'Check-ins of a host in the last 24 hours',
      tags: ['hosts'],
      params: strict({ agent_id: Uuid }),
      response: { 200: Heartbeats },
    },
    handler: async ({ params }) => {
      const row = await findBeats(database.read, params.agent_id);
      if (!row) throw noSuch('agent');
      const nowMs = platform.now();
      const slots = heartbeatsOf({
        nowMs,
        enrolledAtMs: row.enrolled_at,
        intervalSeconds: row.polling_interval_seconds ?? CHECK_IN_INTERVAL_SECONDS,
        lastSeenMs: row.last_seen_at,
        beatSlot: row.beat_slot ?? null,
        beats: row.beats ?? 0,
        lateBeats: row.late_beats ?? 0,
        served: await servedSlots(database.read),
      });
      return {
        agent_id: params.agent_id,
        as_of: rfc3339(nowMs),
        slot_minutes: HEARTBEAT_SLOT_MINUTES,
        slots: slots.map(({ fromMs, status }) => ({ from: rfc3339(fromMs), status })),
      } as const;
    },
  });
}

function dayView(row: DayRow, today: string): HistoryDay {
  return {
    day: row.day,
    as_of: rfc3339(row.as_of),
    complete: row.day < today,
    open: {
      clear: row.open_clear,
      vulnerable: row.open_vulnerable,
      unchecked: row.open_unchecked,
      not_judged: row.open_not_judged,
    },
    exposed: row.exposed,
    median_age_hours: hours(row.median_age_ms),
    p95_age_hours: hours(row.p95_age_ms),
    hosts_seen: row.hosts_seen,
    exposed_hosts: row.exposed_hosts,
  };
}

function hours(ms: number | null): number | null {
  return ms === null ? null : Math.round((ms / HOUR_MS) * 10) / 10;
}
