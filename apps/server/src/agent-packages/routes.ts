import { AGENTS_PATH, AgentPackages, SERVER_CA_PATH } from '@tidegate/protocol/agent-packages-api';
import { Type } from 'typebox';
import type { PublicAccess } from '../platform/http/access.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Log } from '../platform/log.ts';
import { addressKey } from '../rate-limits/keys.ts';
import type { ServerCa } from '../tls/server-ca.ts';
import { createDownloadSeats } from './download-seats.ts';
import { listPackages } from './list-packages.ts';
import type { AgentFolder } from './open-folder.ts';
import { sendFile } from './send-file.ts';
import { isVersioned } from './sums-rules.ts';

const access: PublicAccess = { limit: 'public_access' };
const IMMUTABLE = 'public, max-age=31536000, immutable';

export interface AgentPackagesDeps {
  readonly folder: AgentFolder;
  readonly version: string;
  readonly serverCa: () => ServerCa;
  readonly log: Pick<Log, 'error'>;
  /** For tests; the slice's own otherwise. */
  readonly stallMs?: number;
}

/** The software of agents, for hosts that have no credential yet, and what the console needs to name it by its hash. */
export function mountAgentPackages(routes: Routes, deps: AgentPackagesDeps): void {
  const { folder, version, serverCa, log, stallMs } = deps;
  const seats = createDownloadSeats();
  routes.page({
    method: 'GET',
    url: `${AGENTS_PATH}/*`,
    access,
    schema: { params: Type.Object({ '*': Type.String() }) },
    handler: async ({ params, request, reply }) => {
      const leave = seats.take(addressKey(request));
      reply.raw.once('close', leave);
      const file = await folder.open(params['*']);
      if (file.kind === 'unknown') throw noSuch('file');
      if (file.kind === 'faulty') {
        log.error('software for agents is not offered', { cause: file.fault });
        const detail = 'This file is not the one that SHA256SUMS names; the log of the server says more.';
        throw new Refusal('unavailable', { detail, retryAfterSeconds: 60 });
      }
      const etag = `"${file.sha256}"`;
      reply
        .header('etag', etag)
        .header('cache-control', isVersioned(params['*']) ? IMMUTABLE : 'no-cache')
        .type('application/octet-stream');
      if (request.headers['if-none-match'] === etag) {
        await file.handle.close();
        return reply.code(304).send();
      }
      const { stopping } = routes;
      return sendFile(reply, { file, stopping, ...(stallMs === undefined ? {} : { stallMs }) });
    },
  });
  routes.page({
    method: 'GET',
    url: SERVER_CA_PATH,
    access,
    handler: async ({ reply }) => {
      const ca = serverCa();
      if (ca.kind !== 'private') throw noSuch('certificate');
      return reply
        .header('cache-control', 'no-cache')
        .type('application/x-pem-file')
        .serializer(String)
        .send(ca.pem);
    },
  });
  routes.operator({
    method: 'GET',
    url: '/api/v1/admin/agent-packages',
    access: { role: 'admin', limit: 'admin_reads', reach: 'none', scope: 'hosts' },
    schema: {
      tags: ['enrolment'],
      summary: 'The packages of the agent that hosts can download from this server',
      response: { 200: AgentPackages },
    },
    handler: async () => {
      const ca = serverCa();
      return {
        ...(await listPackages(folder, version)),
        ca_sha256: ca.kind === 'private' ? ca.sha256 : null,
        is_ca_missing: ca.kind === 'missing',
      };
    },
  });
}
