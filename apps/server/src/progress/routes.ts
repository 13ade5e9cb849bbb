import { Progress } from '@tidegate/protocol/progress-api';
import type { OperatorAccess } from '../platform/http/access.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { HostPath, IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { progressOfCommand, progressOfHost, progressOfUpdate } from './read-progress.ts';

const reads: Omit<OperatorAccess, 'reach'> = { role: 'viewer', limit: 'admin_reads' };
const response = { 200: Progress };

/** Where an update, a command or a host stands, and what it waits for. */
export function mountProgress(routes: Routes, { database, now }: Pick<Platform, 'database' | 'now'>): void {
  routes.operator({
    method: 'GET',
    url: '/api/v1/commands/:id/progress',
    access: { ...reads, reach: { of: 'command', by: 'id' } },
    schema: { summary: 'What a command waits for', tags: ['commands'], params: IdPath, response },
    handler: async ({ params: { id } }) => {
      const progress = await progressOfCommand(database.read, { id, nowMs: now() });
      if (!progress) throw noSuch('command');
      return progress;
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/:id/progress',
    access: { ...reads, reach: { of: 'update', by: 'id' } },
    schema: {
      summary: 'Where the installation of an update stands, and what it waits for',
      tags: ['updates'],
      params: IdPath,
      response,
    },
    handler: async ({ params: { id } }) => {
      const progress = await progressOfUpdate(database.read, { id, nowMs: now() });
      if (!progress) throw noSuch('update');
      return progress;
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/progress',
    access: { ...reads, reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'What a host does now, or did last, and what that waits for',
      tags: ['hosts'],
      params: HostPath,
      response,
    },
    handler: async ({ params: { agent_id: id } }) => {
      const progress = isAgentId(id) ? await progressOfHost(database.read, { id, nowMs: now() }) : null;
      if (!progress) throw noSuch('agent');
      return progress;
    },
  });
}
