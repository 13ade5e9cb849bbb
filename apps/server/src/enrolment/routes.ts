import { RegisterAnswer, RegisterRequest } from '@tidegate/protocol/agent-api';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { AccessTokens } from '../agent-credentials/access-tokens.ts';
import { bearerToken } from '../agent-credentials/bearer.ts';
import type { FamilyMaxAgeMs } from '../agent-credentials/family-age-rules.ts';
import { CHECK_IN_INTERVAL_SECONDS } from '../agents/presence.ts';
import { rfc3339 } from '../platform/clock.ts';
import { isMachineId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { type RegisterFault, registerAgent } from './register-agent.ts';
import { mountRegistrationTokens } from './token-routes.ts';

export interface EnrolmentDeps {
  platform: Platform;
  accessTokens: AccessTokens;
  tagKey: Buffer;
  familyMaxAgeMs: FamilyMaxAgeMs;
  /** Older agents cannot enrol; null allows any version. */
  minAgentVersion: string | null;
  keyRing: Pick<KeyRing, 'keySet'>;
}

/** Enrolment of hosts, and registration tokens. */
export function mountEnrolment(routes: Routes, deps: EnrolmentDeps): void {
  const { accessTokens, keyRing } = deps;
  routes.own({
    method: 'POST',
    url: '/api/v1/agents/register',
    access: { limit: 'agent_registration', counts: 'requests', credential: 'registration token' },
    // Checked before the body is read, so that a request without a token is cheap.
    beforeBody: ({ request }) => {
      if (bearerToken(request.headers.authorization) === null) {
        throw new Refusal('unauthenticated', { detail: 'A registration token is required.' });
      }
    },
    schema: {
      tags: ['agents'],
      summary: 'Enrol a host with a registration token',
      body: RegisterRequest,
      response: { 201: RegisterAnswer },
      refuses: [
        'agent_too_old',
        'machine_already_registered',
        'machine_in_another_group',
        'registration_token_invalid',
        'unauthenticated',
      ],
    },
    handler: async ({ body, request, reply }) => {
      reply.header('cache-control', 'no-store');
      const header = request.headers[MACHINE_ID_HEADER];
      const outcome = await registerAgent(deps, {
        secret: bearerToken(request.headers.authorization) ?? '',
        machineId: isMachineId(header) ? header : null,
        host: body,
      });
      if (!outcome.ok) throw refusalOf(outcome.code, deps);
      const { agentId, family } = outcome;
      const access = await accessTokens.issue({ agentId, familyId: family.familyId });
      const { keys, envelope, root } = keyRing.keySet();
      return {
        agent_id: agentId,
        access_token: access.token,
        expires_in: access.expiresInSeconds,
        refresh_token: family.refreshToken,
        refresh_expires_at: rfc3339(family.expiresAtMs),
        check_in_interval_seconds: CHECK_IN_INTERVAL_SECONDS,
        keys,
        key_set: envelope,
        ...(root && { root }),
      };
    },
  });
  mountRegistrationTokens(routes, deps);
}

function refusalOf(code: RegisterFault, { minAgentVersion }: EnrolmentDeps): Refusal {
  switch (code) {
    case 'registration_token_invalid':
      return new Refusal(code, { detail: 'The registration token is not valid, expired or used up.' });
    case 'machine_missing':
      return new Refusal('invalid_request', {
        detail: 'X-Machine-ID is required: 1 to 128 visible ASCII characters.',
        errors: [{ path: 'headers/x-machine-id', message: 'is required' }],
      });
    case 'agent_too_old':
      return new Refusal(code, {
        detail: `This agent is too old to enrol; install version ${minAgentVersion} or a newer one.`,
      });
    case 'machine_in_another_group':
      return new Refusal(code, {
        detail:
          'The server knows this machine as a host that the registration token does not cover. An operator has to make a token of its group, move the host, or delete it.',
      });
    case 'machine_already_registered':
      return new Refusal(code, {
        detail: 'This machine has an active agent; an operator has to revoke it first.',
      });
  }
}
