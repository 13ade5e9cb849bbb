import type { IncomingMessage } from 'node:http';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { FastifyRequest } from 'fastify';
import type { AccessTokens } from '../agent-credentials/access-tokens.ts';
import { bearerToken } from '../agent-credentials/bearer.ts';
import type { Config } from '../config.ts';
import { type AgentId, isMachineId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Guards } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import { judgeCaller } from './guard-rules.ts';
import type { CallerReader } from './read-callers.ts';
import { recordMismatch } from './record-mismatch.ts';

export interface AgentGuardDeps {
  platform: Platform;
  config: Pick<Config, 'minAgentVersion'>;
  limiter: Limiter;
  accessTokens: AccessTokens;
  readCaller: CallerReader;
  /** Whether the request was counted before it came here (by the fast lane of the check-in). */
  isCounted?: (request: IncomingMessage) => boolean;
}

/**
 * The machine-binding check of every ordinary agent request (section 5), over what the database says at this moment:
 * token, limit, revocation, machine, path, version. The limit comes before the database, so that a clone is bounded.
 */
export function createAgentGuard(deps: AgentGuardDeps): Guards['agent'] {
  const { platform, config, limiter, accessTokens, readCaller, isCounted = () => false } = deps;
  return async (request, access) => {
    const token = bearerToken(request.headers.authorization);
    if (token === null) throw new Refusal('unauthenticated', { detail: 'An access token is required.' });
    const known = accessTokens.verify(token);
    const verified = known instanceof Promise ? await known : known;
    if (!verified.ok) throw refuseToken(verified.code);
    const { agentId, familyId } = verified;
    if (!isCounted(request.raw)) enforceLimit(limiter, { limitClass: access.limit, key: agentId });
    const row = await readCaller({ agentId, familyId });
    if (!row) throw refuseToken('access_token_invalid');
    const header = request.headers[MACHINE_ID_HEADER];
    const machineId = isMachineId(header) ? header : null;
    const verdict = judgeCaller({
      agent: row.agentStatus,
      familyActive: row.familyActive,
      recordedMachineId: row.machineId,
      presentedMachineId: machineId,
      agentId,
      pathAgentId: pathAgentIdOf(request),
      agentVersion: row.agentVersion,
      minAgentVersion: config.minAgentVersion,
      route: { bind: access.bind === true, old: access.old === true },
    });
    if (verdict === 'gone') throw refuseToken('access_token_invalid');
    if (verdict === 'mismatch' || machineId === null) {
      throw await refuseMachine(platform, request, {
        agentId,
        recorded: row.machineId,
        reported: machineId,
      });
    }
    switch (verdict) {
      case 'unbound':
        throw new Refusal('binding_pending', {
          detail: 'The agent is not bound to a machine; its next check-in binds it.',
        });
      case 'foreign':
        throw new Refusal('not_found', { detail: 'There is nothing at this path for this agent.' });
      case 'too_old':
        throw new Refusal('agent_too_old', { detail: 'This version of the agent must be updated first.' });
      case 'pass':
        return { ...row, agentId, familyId, machineId, bound: row.machineId !== null };
    }
  };
}

function refuseToken(code: 'access_token_invalid' | 'access_token_expired'): Refusal {
  const detail =
    code === 'access_token_expired' ? 'The access token has expired.' : 'The access token is not valid.';
  return new Refusal(code, { detail });
}

async function refuseMachine(
  platform: Platform,
  request: FastifyRequest,
  found: { agentId: AgentId; recorded: string | null; reported: string | null },
): Promise<Refusal> {
  await recordMismatch(platform, request, found);
  return new Refusal('unauthorized', { detail: 'The machine differs from the one this agent is bound to.' });
}

function pathAgentIdOf({ params }: FastifyRequest): string | null {
  if (typeof params !== 'object' || params === null || !('agent_id' in params)) return null;
  return typeof params.agent_id === 'string' ? params.agent_id : null;
}
