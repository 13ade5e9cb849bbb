import {
  RecoveryCodes,
  StepUpAnswer,
  StepUpRequest,
  TotpConfirmation,
  TotpEnrolment,
} from '@tidegate/protocol/factors-api';
import { rfc3339 } from '../platform/clock.ts';
import { ASSERTION_MAX_BYTES } from '../platform/http/body-sizes.ts';
import type { Routes } from '../platform/http/routes.ts';
import { beginTotpEnrolment, confirmTotpEnrolment, removeTotp } from './codes/enrol-totp.ts';
import { changesCredential, proves } from './own-account.ts';
import { passkeySiteOf } from './passkeys/site.ts';
import { renewRecoveryCodes } from './record-factor.ts';
import { type StepUpDeps, stepUp } from './step-up.ts';

const tags = ['second factors'];

/** The caller's authenticator app and recovery codes, and the step-up of a session. */
export function mountFactors(routes: Routes, deps: StepUpDeps & { baseUrl: string | null }): void {
  const { platform } = deps;
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/totp',
    access: changesCredential,
    schema: {
      tags,
      summary: 'Set up an authenticator app; the secret is shown once and inactive until confirmed',
      response: { 200: TotpEnrolment },
      refuses: ['conflict'],
    },
    handler: async ({ operator }) => beginTotpEnrolment(deps, operator),
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/totp/confirm',
    access: { ...proves, stepUp: 'credentials' },
    schema: {
      tags,
      summary: 'Activate the authenticator app with its first code; returns ten recovery codes, once',
      body: TotpConfirmation,
      response: { 200: RecoveryCodes },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const { code } = body;
      return { recovery_codes: await confirmTotpEnrolment(deps, { owner: operator, code }) };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: '/api/v1/auth/totp',
    access: changesCredential,
    schema: { tags, summary: 'Remove the authenticator app', refuses: ['conflict', 'not_found'] },
    handler: async ({ operator }) => {
      await removeTotp(deps, operator);
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/recovery-codes',
    access: changesCredential,
    schema: {
      tags,
      summary: 'Replace the recovery codes with ten new ones; shown once',
      response: { 201: RecoveryCodes },
      refuses: ['conflict'],
    },
    handler: async ({ operator }) => {
      const codes = await renewRecoveryCodes(platform, operator);
      return { recovery_codes: codes };
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/step-up',
    access: proves,
    bodyMaxBytes: ASSERTION_MAX_BYTES,
    schema: {
      tags,
      summary: 'Prove the password or a second factor again, for routes that demand a fresh proof',
      body: StepUpRequest,
      response: { 200: StepUpAnswer },
      refuses: ['conflict', 'step_up_required'],
    },
    handler: async ({ operator, body, request }) => {
      const by = { caller: operator, address: request.ip };
      const site = () => passkeySiteOf(request, deps.baseUrl);
      return { stepped_up_until: rfc3339(await stepUp(deps, by, { proof: body, site })) };
    },
  });
}
