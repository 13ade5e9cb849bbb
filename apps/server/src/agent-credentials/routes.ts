import { RenewRequest, TokenPair } from '@tidegate/protocol/agent-api';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import { rfc3339 } from '../platform/clock.ts';
import { isMachineId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { App } from '../platform/http/server.ts';
import { addressKey } from '../rate-limits/keys.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import type { AccessTokens } from './access-tokens.ts';
import { isGenuine, parseRefreshToken } from './refresh-tokens.ts';
import { type RenewalDeps, renewTokens } from './renew-tokens.ts';

export interface AgentCredentialsDeps extends RenewalDeps {
  limiter: Limiter;
  accessTokens: AccessTokens;
}

/** E1: a refresh token against a new pair. */
export function mountAgentCredentials(app: App, deps: AgentCredentialsDeps): void {
  const { platform, limiter, accessTokens, tagKey } = deps;
  app.route({
    method: 'POST',
    url: '/api/v1/agents/renew',
    config: { access: { kind: 'own', limit: 'agent_renewal', counts: 'refusals' } },
    schema: {
      tags: ['agents'],
      summary: 'Exchange the refresh token for a new pair of tokens (E1)',
      body: RenewRequest,
      response: { 200: TokenPair },
    },
    async handler(request, reply) {
      reply.header('cache-control', 'no-store');
      const token = parseRefreshToken(request.body.refresh_token);
      // A family that the bearer merely names has no budget of its own: or one host could use up another's.
      request.isGenuine = token !== null && isGenuine(tagKey, token);
      const key = token && request.isGenuine ? token.familyId : addressKey(request);
      enforceLimit(limiter, { limitClass: 'agent_renewal', key, reply });
      if (!token) throw refuseToken();
      const header = request.headers[MACHINE_ID_HEADER];
      const machineId = isMachineId(header) ? header : null;
      const requestId = request.body.request_id ?? null;
      const outcome = await renewTokens(deps, { token, machineId, requestId, address: request.ip });
      if (outcome.ok) {
        const access = await accessTokens.issue(outcome);
        return {
          access_token: access.token,
          expires_in: access.expiresInSeconds,
          refresh_token: outcome.refreshToken,
          refresh_expires_at: rfc3339(outcome.refreshExpiresAtMs),
        };
      }
      const where = { agent_id: outcome.agentId, address: request.ip, request_id: request.id };
      if (outcome.code === 'MACHINE_ID_MISMATCH') {
        platform.log.machineMismatch({ ...where, endpoint: 'renewal', token_class: outcome.tokenClass });
        throw new Refusal('MACHINE_ID_MISMATCH', {
          detail: 'The machine id differs from the one that this agent is bound to.',
        });
      }
      platform.log.info('renewal refused', { ...where, family_id: token.familyId, why: outcome.why });
      throw refuseToken();
    },
  });
}

/** One answer for all reasons: which it was is for the log, not for who holds the token. */
function refuseToken(): Refusal {
  return new Refusal('refresh_token_invalid', { detail: 'The refresh token is not valid; enrol again.' });
}
