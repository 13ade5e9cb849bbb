import { RenewRequest, TokenPair } from '@tidegate/protocol/agent-api';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import { rfc3339 } from '../platform/clock.ts';
import { isAwaited } from '../platform/http/client-faults.ts';
import { isMachineId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { addressKey } from '../rate-limits/keys.ts';
import { enforceLimit, type Limiter } from '../rate-limits/limiter.ts';
import type { AccessTokens } from './access-tokens.ts';
import { isGenuine, parseRefreshToken } from './refresh-tokens.ts';
import { createRenewals } from './renew-together.ts';
import type { RenewalDeps } from './renew-tokens.ts';

export interface AgentCredentialsDeps extends RenewalDeps {
  limiter: Limiter;
  accessTokens: AccessTokens;
}

/** E1: exchanges a refresh token for a new pair of tokens. */
export function mountAgentCredentials(routes: Routes, deps: AgentCredentialsDeps): void {
  const { platform, limiter, accessTokens, tagKey } = deps;
  const renew = createRenewals(deps);
  routes.own({
    method: 'POST',
    url: '/api/v1/agents/renew',
    access: { limit: 'agent_renewal', counts: 'refusals', credential: 'refresh token' },
    schema: {
      tags: ['agents'],
      summary: 'Exchange the refresh token for a new pair of tokens',
      body: RenewRequest,
      response: { 200: TokenPair },
      refuses: ['MACHINE_ID_MISMATCH', 'refresh_token_invalid'],
    },
    handler: async ({ credential, body, request, reply }) => {
      reply.header('cache-control', 'no-store');
      const token = parseRefreshToken(body.refresh_token);
      const genuine = token !== null && isGenuine(tagKey, token) ? token : null;
      if (genuine) credential.markGenuine();
      // Only a genuine token counts against its family: otherwise one host could use up another's budget.
      const key = genuine?.familyId ?? addressKey(request);
      enforceLimit(limiter, { limitClass: 'agent_renewal', key, reply });
      if (!token) throw refuseToken();
      const header = request.headers[MACHINE_ID_HEADER];
      const machineId = isMachineId(header) ? header : null;
      const requestId = body.request_id ?? null;
      const outcome = await renew({
        ...{ token, machineId, requestId, address: request.ip },
        isAwaited: () => isAwaited(request.raw),
      });
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

/** One answer for every reason; only the log says which it was. */
function refuseToken(): Refusal {
  return new Refusal('refresh_token_invalid', { detail: 'The refresh token is not valid; enrol again.' });
}
