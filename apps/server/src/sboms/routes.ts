import type { Readable } from 'node:stream';
import { GroupName, strict } from '@tidegate/protocol/scalars';
import type { VexFormat } from '@tidegate/protocol/vex-api';
import { Type } from 'typebox';
import { isInScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess, OperatorCaller } from '../platform/http/access.ts';
import { createFileAnswers } from '../platform/http/answer-file.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { HostsDeps } from '../unfixed/list-hosts.ts';
import type { Target } from './facts-store.ts';
import { writeSbom } from './write-sbom.ts';
import { writeVex } from './write-vex.ts';

const CYCLONEDX_TYPE = 'application/vnd.cyclonedx+json';
const JSON_TYPE = 'application/json';
const TYPES = { cyclonedx: CYCLONEDX_TYPE, openvex: JSON_TYPE } as const;
const tags = ['inventory documents'];
const ofHost: OperatorAccess = {
  ...{ role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
};
const ofGroup: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const Format = Type.Optional(Type.Enum(['openvex', 'cyclonedx'], { description: 'default cyclonedx' }));
/** The document, which is streamed. */
const Document = Type.Unsafe<Readable>(Type.Unknown());
const sbom = {
  ...{ tags, produces: [CYCLONEDX_TYPE], response: { 200: Document } },
  refuses: ['not_found', 'conflict'],
} as const;
const vex = { ...sbom, produces: [CYCLONEDX_TYPE, JSON_TYPE] } as const;
const SAFETY =
  'A package that it does not name is not safe by that: the document says how many are not judged.';

/** What is installed on a host or in a group, and what is known of its vulnerabilities, as documents for other tools. */
export function mountSboms(routes: Routes, deps: HostsDeps & { fleetId: string }): void {
  const answerFile = createFileAnswers({ stopping: routes.stopping, what: 'inventory documents' });
  const db = deps.platform.database.read;
  const vexOf = (target: Target, format: VexFormat = 'cyclonedx') => ({
    ...{ type: TYPES[format], name: `vex.${format}.json` },
    pieces: writeVex(deps, { target, format, author: `Tidegate fleet ${deps.fleetId}` }),
  });
  const sbomOf = (target: Target) => ({
    ...{ type: CYCLONEDX_TYPE, name: 'sbom.cdx.json', pieces: writeSbom(db, target) },
  });

  routes.operator({
    ...{ method: 'GET', url: '/api/v1/agents/:agent_id/sbom', access: ofHost },
    schema: { ...sbom, summary: 'What a host has installed, as a CycloneDX 1.6 SBOM', params: HostPath },
    handler: async ({ params, request, reply }) => answerFile({ request, reply, ...sbomOf(hostOf(params)) }),
  });
  routes.operator({
    ...{ method: 'GET', url: '/api/v1/sbom', access: ofGroup },
    schema: {
      ...sbom,
      summary: 'What the hosts of a group have installed, as a CycloneDX 1.6 SBOM',
      querystring: strict({ group: GroupName }),
    },
    handler: async ({ operator, query, request, reply }) =>
      answerFile({ request, reply, ...sbomOf(groupOf(query.group, operator)) }),
  });
  routes.operator({
    ...{ method: 'GET', url: '/api/v1/agents/:agent_id/vex', access: ofHost },
    schema: {
      ...vex,
      summary: 'What is known of the vulnerabilities of a host, as a VEX document',
      description: SAFETY,
      params: HostPath,
      querystring: strict({ format: Format }),
    },
    handler: async ({ params, query, request, reply }) =>
      answerFile({ request, reply, ...vexOf(hostOf(params), query.format) }),
  });
  routes.operator({
    ...{ method: 'GET', url: '/api/v1/vex', access: ofGroup },
    schema: {
      ...vex,
      summary: 'What is known of the vulnerabilities of the hosts of a group, as a VEX document',
      description: `${SAFETY} Of several hosts with one package, the least safe counts.`,
      querystring: strict({ group: GroupName, format: Format }),
    },
    handler: async ({ operator, query, request, reply }) =>
      answerFile({ request, reply, ...vexOf(groupOf(query.group, operator), query.format) }),
  });
}

function hostOf({ agent_id: agentId }: { agent_id: string }): Target {
  return { kind: 'host', agentId };
}

/** For operators of other groups it is not there. */
function groupOf(group: string, { groups }: OperatorCaller): Target {
  if (!isInScope(groups, group)) throw noSuch('host in this group');
  return { kind: 'group', group };
}
