import { FleetLockError, type FleetLockKind, FleetLockRequest } from '@tidegate/protocol/fleet-lock';
import { strict } from '@tidegate/protocol/scalars';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal, type RefusalForm } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { basicCredential, isSecret } from './credentials.ts';
import { type LockClient, type LockOutcome, preReboot, steadyState } from './lock-calls.ts';
import { type FleetLockTokenRow, findToken, isAnyToken } from './store.ts';

export interface FleetLockDeps {
  platform: Platform;
  limiter: Pick<Limiter, 'take'>;
}

type Call = (tx: Tx, platform: Platform, client: LockClient) => Promise<LockOutcome>;

const VALUES: Readonly<Record<FleetLockKind, string>> = {
  wrong_group: 'The token is for another group.',
  no_free_slot: 'As many hosts of the group are down as may be.',
  group_halted: 'Too many hosts of the group failed: a person has to release them.',
  too_few_healthy: 'Too few other hosts of the group are well.',
  blackout: 'A blackout withholds reboots of the group.',
  slot_failed: 'The client was not back in time: a person has to release its slot.',
};
/** The kinds of the protocol are a small set: those above, and the codes of problems. */
const refusalForm: RefusalForm = {
  schema: FleetLockError,
  bodyOf({ code, members: { detail, extra = {} } }) {
    const { kind = code } = extra;
    return { kind, value: detail };
  },
};

const ProtocolHeader = Type.Object({ 'fleet-lock-protocol': Type.Literal('true') });

/**
 * The two calls of FleetLock, at the paths that its clients know. They do not exist until there is a token. Who asks is
 * checked before the body is read, and again in the transaction, so that a token that is revoked gets nothing.
 */
export function mountFleetLock(routes: Routes, { platform, limiter }: FleetLockDeps): void {
  const { database } = platform;

  function mount(url: `/v1/${string}`, { summary, call }: { summary: string; call: Call }): void {
    routes.own({
      ...{
        method: 'POST',
        url,
        access: { limit: 'fleet_lock', counts: 'requests', credential: 'token of FleetLock' },
      },
      ...{ isAlwaysJson: true, refusalForm },
      async beforeBody({ request }) {
        if (!(await isAnyToken(database.read))) {
          throw new Refusal('not_found', { detail: 'FleetLock is off: no group has a token.' });
        }
        const { id } = await demandToken(database.read, request);
        enforceLimit(limiter, { limitClass: 'fleet_lock', key: `token:${id}` });
        if (request.headers['fleet-lock-protocol'] === 'true') return;
        throw new Refusal('invalid_request', { detail: 'The header fleet-lock-protocol must be "true".' });
      },
      schema: {
        summary,
        description:
          'HTTP Basic with the id and the secret of a token of the group. See docs/protocol/fleet-lock.md.',
        tags: ['reboots'],
        headers: ProtocolHeader,
        body: FleetLockRequest,
        response: { 200: strict({}) },
        refuses: ['unauthenticated', 'forbidden', 'not_found', 'conflict'],
      },
      async handler({ body: { client_params: asked }, request, reply }) {
        reply.header('cache-control', 'no-store');
        const outcome = await database.transact(async (tx) => {
          const { id: tokenId, group_name: group } = await demandToken(tx, request);
          if (asked.group !== group) return 'wrong_group';
          return call(tx, platform, { group, clientId: asked.id, tokenId });
        });
        if (outcome !== null) throw refused(outcome);
        return {};
      },
    });
  }

  mount('/v1/pre-reboot', { summary: 'FleetLock: take a reboot slot of the group', call: preReboot });
  mount('/v1/steady-state', { summary: 'FleetLock: give the reboot slot back', call: steadyState });
}

function refused(kind: FleetLockKind): Refusal {
  const code = kind === 'wrong_group' ? 'forbidden' : 'conflict';
  return new Refusal(code, { detail: VALUES[kind], extra: { kind } });
}

async function demandToken(db: Db, { headers }: FastifyRequest): Promise<FleetLockTokenRow> {
  const credential = basicCredential(headers.authorization);
  const token = credential && (await findToken(db, credential.id));
  if (credential && token && isSecret(credential.secret, token.secret_hash)) return token;
  throw new Refusal('unauthenticated', {
    detail: 'A token of the group is required, as the user and the password of the base URL.',
    headers: { 'www-authenticate': 'Basic realm="fleet-lock"' },
  });
}
