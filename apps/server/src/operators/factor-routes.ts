import {
  RecoveryCodes,
  StepUpAnswer,
  StepUpRequest,
  TotpConfirmation,
  TotpEnrolment,
} from '@tidegate/protocol/factors-api';
import { rfc3339 } from '../platform/clock.ts';
import { ASSERTION_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import { beginTotpEnrolment, confirmTotpEnrolment, removeTotp } from './codes/enrol-totp.ts';
import { passkeySiteOf } from './passkeys/site.ts';
import { renewRecoveryCodes } from './record-factor.ts';
import { type StepUpDeps, stepUp } from './step-up.ts';

const tags = ['second factors'];
const self = {
  kind: 'operator',
  role: 'viewer',
  limit: 'admin_operations',
  reach: 'none',
  toEnrol: true,
} as const;
/** Codes are guessed at no faster than passwords. */
const guessable = { access: { ...self, limit: 'login' } } as const;
/** What lets an operator in is changed by who knows the password, and has proven a factor lately where there is one. */
export const changesFactor = { access: { ...self, stepUp: 'credentials' } } as const;

/** An operator's own authenticator app and recovery codes, and the fresh proof of a second factor. */
export function mountFactors(app: App, deps: StepUpDeps & { baseUrl: string | null }): void {
  const { platform } = deps;
  app.route({
    method: 'POST',
    url: '/api/v1/auth/totp',
    config: changesFactor,
    schema: {
      tags,
      summary:
        'Begin with an authenticator app; the secret is shown once, and inactive until it is confirmed',
      response: { 200: TotpEnrolment },
    },
    handler: async (request) => beginTotpEnrolment(deps, operatorOf(request)),
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/totp/confirm',
    config: { access: { ...guessable.access, stepUp: 'credentials' } },
    schema: {
      tags,
      summary: 'Turn the authenticator app on by its first code; answers ten recovery codes, once',
      body: TotpConfirmation,
      response: { 200: RecoveryCodes },
    },
    handler: async (request) => {
      const { code } = request.body;
      return { recovery_codes: await confirmTotpEnrolment(deps, { owner: operatorOf(request), code }) };
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/v1/auth/totp',
    config: changesFactor,
    schema: { tags, summary: 'Remove the authenticator app' },
    handler: async (request, reply) => {
      await removeTotp(deps, operatorOf(request));
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/recovery-codes',
    config: changesFactor,
    schema: {
      tags,
      summary: 'Ten new recovery codes instead of those there were; shown once',
      response: { 201: RecoveryCodes },
    },
    handler: async (request, reply) => {
      const codes = await renewRecoveryCodes(platform, operatorOf(request));
      return reply.code(201).send({ recovery_codes: codes });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/step-up',
    config: { ...guessable, bodyMaxBytes: ASSERTION_MAX_BYTES },
    schema: {
      tags,
      summary: 'Prove the password or a second factor for this session, for what asks for a fresh proof',
      body: StepUpRequest,
      response: { 200: StepUpAnswer },
    },
    handler: async (request) => {
      const by = { caller: operatorOf(request), address: request.ip };
      const site = () => passkeySiteOf(request, deps.baseUrl);
      return { stepped_up_until: rfc3339(await stepUp(deps, by, { proof: request.body, site })) };
    },
  });
}
