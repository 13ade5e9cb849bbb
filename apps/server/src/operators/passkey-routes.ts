import {
  NewPasskey,
  Passkey,
  PasskeyAdded,
  PasskeyAnswer,
  PasskeyChange,
  PasskeyOptions,
} from '@tidegate/protocol/factors-api';
import { LoginAnswer } from '@tidegate/protocol/operators-api';

import type { PublicAccess } from '../platform/http/access.ts';
import { ASSERTION_MAX_BYTES, LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import type { Routes } from '../platform/http/routes.ts';
import { type AuthDeps, answerLogIn, demandSameOrigin } from './auth-routes.ts';
import { changesCredential, proves, readsOwn } from './own-account.ts';
import {
  addPasskey,
  beginPasskey,
  changePasskey,
  passkeyView,
  removePasskey,
} from './passkeys/enrol-passkey.ts';
import { passkeySiteOf } from './passkeys/site.ts';
import { listPasskeys } from './passkeys/store.ts';
import { beginPasskeyLogIn, logInByPasskey } from './sessions/log-in-by-passkey.ts';
import { clientOf } from './sessions/open-session.ts';
import { beginPasskeyStepUp } from './step-up.ts';

const URL = '/api/v1/auth/passkeys';
const LOGIN = '/api/v1/auth/login/passkey';
const tags = ['second factors'];
const logsIn: PublicAccess = { limit: 'login' };

/** The caller's passkeys, and login by passkey. */
export function mountPasskeys(routes: Routes, deps: AuthDeps): void {
  const { platform, baseUrl } = deps;
  routes.operator({
    method: 'GET',
    url: URL,
    access: readsOwn,
    schema: { tags, summary: 'Your passkeys', response: { 200: pageOf(Passkey) } },
    handler: async ({ operator }) => {
      const items = (await listPasskeys(platform.database.read, operator.operatorId)).map(passkeyView);
      return { items, next_cursor: null, total: items.length };
    },
  });
  routes.operator({
    method: 'POST',
    url: `${URL}/options`,
    access: changesCredential,
    schema: {
      tags,
      summary: 'Options for a new passkey',
      response: { 200: PasskeyOptions },
      refuses: ['conflict'],
    },
    handler: async ({ operator, request }) =>
      beginPasskey(platform, { owner: operator, site: passkeySiteOf(request, baseUrl) }),
  });
  routes.operator({
    method: 'POST',
    url: URL,
    access: changesCredential,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Store the passkey that the browser made; the first factor returns recovery codes, once',
      body: NewPasskey,
      response: { 201: PasskeyAdded },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body, request }) => {
      const { challenge_id: challengeId, name, credential } = body;
      const site = passkeySiteOf(request, baseUrl);
      const asked = { owner: operator, site, challengeId, name, credential };
      const { passkey, recoveryCodes } = await addPasskey(platform, asked);
      return { passkey, recovery_codes: recoveryCodes };
    },
  });
  routes.operator({
    method: 'PATCH',
    url: `${URL}/:id`,
    access: changesCredential,
    schema: {
      tags,
      summary: 'Rename a passkey',
      params: IdPath,
      body: PasskeyChange,
      response: { 200: Passkey },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, body }) => {
      const { id } = params;
      return changePasskey(platform, { owner: operator, id, name: body.name });
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: changesCredential,
    schema: { tags, summary: 'Remove a passkey', refuses: ['conflict', 'not_found'], params: IdPath },
    handler: async ({ operator, params }) => {
      await removePasskey(platform, { owner: operator, id: params.id });
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/auth/step-up/options',
    access: proves,
    schema: {
      tags,
      summary: 'Options for a step-up by passkey',
      response: { 200: PasskeyOptions },
      refuses: ['conflict'],
    },
    handler: async ({ operator, request }) =>
      beginPasskeyStepUp(platform, { caller: operator, site: passkeySiteOf(request, baseUrl) }),
  });
  routes.public({
    method: 'POST',
    url: `${LOGIN}/options`,
    access: logsIn,
    bodyMaxBytes: ASSERTION_MAX_BYTES,
    schema: {
      tags: ['authentication'],
      summary: 'Options for a login by passkey, without a username',
      response: { 200: PasskeyOptions },
      refuses: ['conflict', 'forbidden', 'unavailable'],
    },
    handler: async ({ request }) => {
      demandSameOrigin(request);
      return beginPasskeyLogIn(platform, passkeySiteOf(request, baseUrl));
    },
  });
  routes.public({
    method: 'POST',
    url: LOGIN,
    access: logsIn,
    bodyMaxBytes: ASSERTION_MAX_BYTES,
    schema: {
      tags: ['authentication'],
      summary: 'Log in by passkey: alone, or after the password with the challenge from its answer',
      body: PasskeyAnswer,
      response: { 200: LoginAnswer },
      refuses: ['conflict', 'forbidden', 'unauthenticated', 'unavailable'],
    },
    handler: async ({ body, request, reply }) => {
      demandSameOrigin(request);
      const site = passkeySiteOf(request, baseUrl);
      const asked = { answer: body, client: clientOf(request), site };
      return answerLogIn(deps, reply, await logInByPasskey(deps, asked));
    },
  });
}
