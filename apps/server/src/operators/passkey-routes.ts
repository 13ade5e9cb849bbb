import {
  NewPasskey,
  Passkey,
  PasskeyAdded,
  PasskeyAnswer,
  PasskeyChange,
  PasskeyOptions,
} from '@tidegate/protocol/factors-api';
import { LoginAnswer } from '@tidegate/protocol/operators-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { ASSERTION_MAX_BYTES, LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { pageOf } from '../platform/http/lists.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import { type AuthDeps, answerLogIn, demandSameOrigin } from './auth-routes.ts';
import { changesFactor } from './factor-routes.ts';
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
const params = strict({ id: Uuid });
const reads = {
  kind: 'operator',
  role: 'viewer',
  limit: 'admin_reads',
  reach: 'none',
  toEnrol: true,
} as const;
const logsIn = { access: { kind: 'public', limit: 'login' }, bodyMaxBytes: ASSERTION_MAX_BYTES } as const;

/** An operator's own passkeys, and logging in by them. */
export function mountPasskeys(app: App, deps: AuthDeps): void {
  const { platform, baseUrl } = deps;
  app.route({
    method: 'GET',
    url: URL,
    config: { access: reads },
    schema: { tags, summary: 'Your passkeys', response: { 200: pageOf(Passkey) } },
    handler: async (request) => {
      const items = (await listPasskeys(platform.database.read, operatorOf(request).operatorId)).map(
        passkeyView,
      );
      return { items, next_cursor: null, total: items.length };
    },
  });
  app.route({
    method: 'POST',
    url: `${URL}/options`,
    config: changesFactor,
    schema: { tags, summary: 'Begin with a new passkey', response: { 200: PasskeyOptions } },
    handler: async (request) =>
      beginPasskey(platform, { owner: operatorOf(request), site: passkeySiteOf(request, baseUrl) }),
  });
  app.route({
    method: 'POST',
    url: URL,
    config: { ...changesFactor, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      tags,
      summary: 'Keep the passkey that the browser made; the first factor brings recovery codes, once',
      body: NewPasskey,
      response: { 201: PasskeyAdded },
    },
    handler: async (request, reply) => {
      const { challenge_id: challengeId, name, credential } = request.body;
      const site = passkeySiteOf(request, baseUrl);
      const asked = { owner: operatorOf(request), site, challengeId, name, credential };
      const { passkey, recoveryCodes } = await addPasskey(platform, asked);
      return reply.code(201).send({ passkey, recovery_codes: recoveryCodes });
    },
  });
  app.route({
    method: 'PATCH',
    url: `${URL}/:id`,
    config: changesFactor,
    schema: { tags, summary: 'Rename a passkey', params, body: PasskeyChange, response: { 200: Passkey } },
    handler: async (request) => {
      const { id } = request.params;
      return changePasskey(platform, { owner: operatorOf(request), id, name: request.body.name });
    },
  });
  app.route({
    method: 'DELETE',
    url: `${URL}/:id`,
    config: changesFactor,
    schema: { tags, summary: 'Remove a passkey', params },
    handler: async (request, reply) => {
      await removePasskey(platform, { owner: operatorOf(request), id: request.params.id });
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/step-up/options',
    config: { access: { ...reads, limit: 'login' } },
    schema: { tags, summary: 'Begin to step up by a passkey', response: { 200: PasskeyOptions } },
    handler: async (request) =>
      beginPasskeyStepUp(platform, { caller: operatorOf(request), site: passkeySiteOf(request, baseUrl) }),
  });
  app.route({
    method: 'POST',
    url: `${LOGIN}/options`,
    config: logsIn,
    schema: {
      tags: ['authentication'],
      summary: 'Begin to log in by a passkey, without a username',
      response: { 200: PasskeyOptions },
    },
    handler: async (request) => {
      demandSameOrigin(request);
      return beginPasskeyLogIn(platform, passkeySiteOf(request, baseUrl));
    },
  });
  app.route({
    method: 'POST',
    url: LOGIN,
    config: logsIn,
    schema: {
      tags: ['authentication'],
      summary: 'Log in by a passkey: alone, or after the password with the challenge that its answer brought',
      body: PasskeyAnswer,
      response: { 200: LoginAnswer },
    },
    handler: async (request, reply) => {
      demandSameOrigin(request);
      const site = passkeySiteOf(request, baseUrl);
      const asked = { answer: request.body, client: clientOf(request), site };
      return answerLogIn(deps, reply, await logInByPasskey(deps, asked));
    },
  });
}
