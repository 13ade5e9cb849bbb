import { CommandQueued } from '@tidegate/protocol/agents-api';
import {
  HostProbes,
  knownState,
  LOOK_MAX_AGE_MS,
  PROBE_REPORT_MAX_BYTES,
  ProbeReport,
  type ProbesState,
  twiceNamed,
} from '@tidegate/protocol/probes';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { findAgent } from '../agents/store.ts';
import { queueForHost } from '../commands/host-commands.ts';
import { rfc3339 } from '../platform/clock.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeptProbes } from './probe-rules.ts';
import { recordProbes } from './record-probes.ts';
import { findProbes } from './store.ts';

const URL = '/api/v1/agents/:agent_id/probes';

/** Probes: hosts report what came of those that root named there; operators read it, and ask for a new look. */
export function mountProbes(routes: Routes, platform: Platform): void {
  routes.agent({
    ...{ method: 'PUT', url: URL, access: { limit: 'agent_reports' } },
    bodyMaxBytes: PROBE_REPORT_MAX_BYTES,
    schema: {
      summary: 'What came of the probes of the host',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: ProbeReport,
      response: { 200: strict({ accepted: Type.Literal(true) }) },
    },
    handler: async ({ agent: { agentId }, body: report }) => {
      const twice = twiceNamed(report.probes);
      if (twice !== null) {
        throw notValid([{ path: '/probes', message: 'must name each probe once' }]);
      }
      await platform.database.transact((tx) => recordProbes(tx, platform, { agentId, report }));
      return { accepted: true as const };
    },
  });
  routes.operator({
    ...{ method: 'GET', url: URL },
    access: { role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'The probes of a host, each with its state and since when',
      description:
        '`unknown` without `at`: the host has not reported. `none`: root has named no probes there. A report counts for a day: after it all but `red` is `unknown`.',
      tags: ['hosts'],
      params: HostPath,
      response: { 200: HostProbes },
    },
    handler: async ({ params: { agent_id: agentId } }) => {
      const db = platform.database.read;
      if (!isAgentId(agentId) || (await findAgent(db, agentId)) === null) throw noSuch('agent');
      return viewOf(await findProbes(db, agentId), platform.now());
    },
  });
  routes.operator({
    ...{ method: 'POST', url: `${URL}/run` },
    access: {
      ...{ role: 'approver', limit: 'admin_operations', reach: { of: 'agent', by: 'agent_id' } },
      scope: 'hosts',
    },
    schema: {
      summary: 'Have a host run its probes',
      tags: ['hosts'],
      params: HostPath,
      response: { 202: CommandQueued },
    },
    handler: async ({ operator, params }) => {
      const command_id = await queueForHost(platform, params.agent_id, (_, queue) =>
        queue({ action: 'run_probes', params: {}, createdBy: operator.username }),
      );
      return { command_id };
    },
  });
}

function viewOf(kept: KeptProbes | null, nowMs: number): HostProbes {
  if (kept === null) return { state: 'unknown', since: null, at: null, probes: [] };
  const { lookedAtMs } = kept;
  const known = <S extends ProbesState>(state: S) => knownState(state, { lookedAtMs, nowMs });
  const state = known(kept.state);
  const sinceMs = state === kept.state ? kept.sinceMs : lookedAtMs + LOOK_MAX_AGE_MS;
  return {
    ...{ state, since: rfc3339(sinceMs), at: rfc3339(lookedAtMs) },
    probes: kept.probes.map(({ sinceMs: since, ...probe }) => ({
      ...{ ...probe, state: known(probe.state), last_state: probe.state, since: rfc3339(since) },
    })),
  };
}
