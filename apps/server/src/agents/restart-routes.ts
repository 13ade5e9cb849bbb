import { HostRestarts, RESTART_REPORT_MAX_BYTES, RestartReport } from '@tidegate/protocol/restarts';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { findRestarts, reportOf, saveRestarts } from './restarts-store.ts';
import { findAgent } from './store.ts';

/** What runs old code on a host: agents report it when it changes, operators read the evidence. */
export function mountRestarts(
  routes: Routes,
  { platform }: { platform: Pick<Platform, 'database' | 'now'> },
): void {
  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/restarts',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: RESTART_REPORT_MAX_BYTES,
    schema: {
      summary: 'Services that run replaced files, and whether the host needs a reboot',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: RestartReport,
      response: { 200: strict({ accepted: Type.Literal(true) }) },
    },
    handler: async ({ agent: { agentId }, body: report }) => {
      const nowMs = platform.now();
      await platform.database.transact((tx) => saveRestarts(tx, { agentId, report, nowMs }));
      return { accepted: true as const };
    },
  });
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/restarts',
    access: { role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'Why a host, or services on it, need a restart',
      description:
        '`report` is null until the host has reported in its present boot: that is unknown, not "no".',
      tags: ['hosts'],
      params: HostPath,
      response: { 200: HostRestarts },
    },
    handler: async ({ params: { agent_id: agentId } }) => {
      const db = platform.database.read;
      if (!isAgentId(agentId) || (await findAgent(db, agentId)) === null) throw noSuch('agent');
      const row = await findRestarts(db, agentId);
      if (row === null) return { report: null, received_at: null };
      const report = reportOf(row);
      return { report, received_at: rfc3339(row.received_at) };
    },
  });
}
