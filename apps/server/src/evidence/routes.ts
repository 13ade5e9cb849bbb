import { Readable } from 'node:stream';
import { EVIDENCE_MEDIA_TYPE, type EvidenceScope } from '@tidegate/protocol/evidence-api';
import { GroupName, strict, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { isInScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess, OperatorCaller } from '../platform/http/access.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { createSeats } from '../platform/http/seats.ts';
import type { Platform } from '../platform/platform.ts';
import { bundleName } from './bundle-name.ts';
import { readSpan } from './read-span.ts';
import { hostsIn } from './store.ts';
import { type EvidenceSigner, writeBundle } from './write-bundle.ts';

/** Bundles that are written at a time: in total, and for one operator. */
const BUNDLES_MAX = 2;
const BUNDLES_PER_OPERATOR = 1;
/** The longest time that a client may take for a bundle, in milliseconds. */
const BUNDLE_MAX_MS = 60 * 60_000;

const access: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };

const Time = (description: string) => Type.String({ minLength: 1, maxLength: 30, description });
const EvidenceQuery = strict({
  since: Type.Optional(
    Time('where the span begins: a day or a time in UTC; 90 days before its end unless given'),
  ),
  until: Type.Optional(Time('where it ends, not included; now unless given')),
  agent_id: Type.Optional(Uuid),
  group: Type.Optional(GroupName),
});

/** A bundle of evidence, as it is written (docs/evidence.md). */
export function mountEvidence(
  routes: Routes,
  { platform, signer }: { platform: Pick<Platform, 'database' | 'now'>; signer: EvidenceSigner },
): void {
  const seats = createSeats({ total: BUNDLES_MAX, each: BUNDLES_PER_OPERATOR, what: 'bundles of evidence' });
  const db = platform.database.read;
  routes.operator({
    ...{ method: 'GET', url: '/api/v1/evidence', access },
    schema: {
      summary: 'Evidence of a span of time for an auditor, as one signed archive',
      description:
        'Of one host, one group, or all hosts that the caller sees. `tidegate verify-evidence` verifies it without a server. For an operator who is bound to groups of hosts it has their hosts alone, and neither the chain of the events nor rows of the fleet.',
      tags: ['evidence'],
      produces: [EVIDENCE_MEDIA_TYPE],
      querystring: EvidenceQuery,
      response: { 200: Type.Unsafe<Readable>(Type.String()) },
      refuses: ['not_found'],
    },
    handler: async ({ operator, query, reply }) => {
      const nowMs = platform.now();
      const read = readSpan({ since: query.since, until: query.until }, nowMs);
      if (!read.ok) throw refused(read.fault);
      const scope = await scopeOf(query, operator);
      const leave = seats.take(operator.operatorId);
      reply.raw.once('close', leave);
      const isBound = operator.groups !== null;
      const request = { scope, isBound, span: read.span, madeBy: operator.username, nowMs };
      const signal = AbortSignal.any([routes.stopping, AbortSignal.timeout(BUNDLE_MAX_MS)]);
      return reply
        .header('content-type', EVIDENCE_MEDIA_TYPE)
        .header('content-disposition', `attachment; filename="${bundleName(scope, read.span)}"`)
        .header('cache-control', 'no-store')
        .send(Readable.from(writeBundle(db, signer, request), { signal, objectMode: false }));
    },
  });

  async function scopeOf(
    { agent_id: agentId, group }: Static<typeof EvidenceQuery>,
    { groups }: OperatorCaller,
  ): Promise<EvidenceScope> {
    if (agentId !== undefined && group !== undefined) throw refused('agent_id and group exclude each other');
    if (agentId !== undefined) {
      // Also a deleted host: what it did remains.
      const [host] = await hostsIn(db, { agentId, groups, after: '' });
      if (!host) throw noSuch('host');
      return { kind: 'host', agent_id: agentId };
    }
    if (group !== undefined) {
      if (!isInScope(groups, group)) throw noSuch('group');
      return { kind: 'group', group };
    }
    return groups === null ? { kind: 'fleet' } : { kind: 'groups', groups: [...groups] };
  }
}

function refused(message: string) {
  return notValid([{ path: 'querystring', message }], 'querystring');
}
