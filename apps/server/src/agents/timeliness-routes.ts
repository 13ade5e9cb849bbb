import { strict, Uuid } from '@tidegate/protocol/scalars';
import { TIMELINESS_MAX_BYTES, TimelinessReport } from '@tidegate/protocol/timeliness';
import { Type } from 'typebox';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { saveTimeliness } from './timeliness-store.ts';

/** How old a host's package lists are, and its clock: the faults of the host tell operators. */
export function mountTimeliness(
  routes: Routes,
  { platform: { database, now } }: { platform: Pick<Platform, 'database' | 'now'> },
): void {
  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/timeliness',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: TIMELINESS_MAX_BYTES,
    schema: {
      summary: 'How old the package lists of the host are, and what its clock shows',
      description:
        'The server compares the clock with its own on receipt: the difference holds what the request was under way.',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: TimelinessReport,
      response: { 200: strict({ accepted: Type.Literal(true) }) },
    },
    handler: async ({ agent: { agentId }, body: { clock, lists: ages } }) => {
      const nowMs = now();
      const aheadMs = Date.parse(clock) - nowMs;
      await database.transact((tx) => saveTimeliness(tx, { agentId, ages, aheadMs, nowMs }));
      return { accepted: true as const };
    },
  });
}
