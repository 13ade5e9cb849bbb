import {
  Identities,
  LogoutAnswer,
  OfferedProviders,
  ProviderStepUp,
  SignInRequest,
  SignInStart,
} from '@tidegate/protocol/identity-providers-api';
import { demandSameOrigin } from '../operators/auth-routes.ts';
import { unbindIdentity } from '../operators/identities/bind-identity.ts';
import { findProviderSession } from '../operators/identities/store.ts';
import { changesCredential, changesOwn, proves, readsOwn } from '../operators/own-account.ts';
import type { SessionCookies } from '../operators/sessions/cookies.ts';
import { IdPath } from '../platform/http/paths.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { type BeginDeps, beginSignIn } from './begin-sign-in.ts';
import { identitiesOf } from './identity-view.ts';
import { type LogOutDeps, logOut } from './log-out.ts';
import { originOf } from './site.ts';
import { listProviders } from './store.ts';

const AUTH = '/api/v1/auth';
const tags = ['authentication'];

export type SignInDeps = BeginDeps & LogOutDeps & { cookies: SessionCookies; baseUrl: string | null };

/** What the console asks for: where to send the browser, and the caller's own accounts. */
export function mountSignIn(routes: Routes, deps: SignInDeps): void {
  const { platform, cookies, baseUrl } = deps;
  routes.public({
    method: 'GET',
    url: `${AUTH}/providers`,
    access: { limit: 'public_access' },
    schema: { tags, summary: 'Identity providers to log in by', response: { 200: OfferedProviders } },
    handler: async () => {
      const rows = await listProviders(platform.database.read);
      return { items: rows.filter((row) => row.enabled === 1).map(({ id, name }) => ({ id, name })) };
    },
  });
  routes.public({
    method: 'POST',
    url: `${AUTH}/login/provider`,
    access: { limit: 'login' },
    schema: {
      tags,
      summary:
        'Begin a login by an identity provider; the answer sets the cookie that the browser must come back with',
      body: SignInRequest,
      response: { 200: SignInStart },
      refuses: ['forbidden', 'not_found', 'unavailable'],
    },
    handler: async ({ body, request, reply }) => {
      demandSameOrigin(request);
      const { url, setCookie } = await beginSignIn(deps, {
        ...{ providerId: body.provider_id, purpose: 'login', caller: null, next: body.next },
        origin: originOf(request, baseUrl),
      });
      reply.header('set-cookie', setCookie);
      return { url };
    },
  });
  routes.operator({
    method: 'POST',
    url: `${AUTH}/step-up/provider`,
    access: proves,
    schema: {
      tags,
      summary: 'Begin a fresh proof by the identity provider that opened this session',
      body: ProviderStepUp,
      response: { 200: SignInStart },
      refuses: ['conflict', 'not_found', 'unavailable'],
    },
    handler: async ({ operator: caller, body, request, reply }) => {
      const opened = await findProviderSession(platform.database.read, caller.sessionId);
      if (!opened) throw new Refusal('conflict', { detail: 'No identity provider opened this session.' });
      const { url, setCookie } = await beginSignIn(deps, {
        ...{ providerId: opened.provider_id, purpose: 'step_up', caller, next: body.next },
        origin: originOf(request, baseUrl),
      });
      reply.header('set-cookie', setCookie);
      return { url };
    },
  });
  routes.operator({
    method: 'GET',
    url: `${AUTH}/identities`,
    access: readsOwn,
    schema: {
      tags,
      summary: 'Accounts of identity providers that log you in',
      response: { 200: Identities },
      refuses: ['not_found'],
    },
    handler: async ({ operator }) => identitiesOf(platform.database.read, operator.operatorId),
  });
  routes.operator({
    method: 'POST',
    url: `${AUTH}/identities`,
    access: changesCredential,
    schema: {
      tags,
      summary: 'Begin to bind an account of an identity provider to yourself',
      body: SignInRequest,
      response: { 200: SignInStart },
      refuses: ['not_found', 'unavailable'],
    },
    handler: async ({ operator: caller, body, request, reply }) => {
      const { url, setCookie } = await beginSignIn(deps, {
        ...{ providerId: body.provider_id, purpose: 'bind', caller, next: body.next },
        origin: originOf(request, baseUrl),
      });
      reply.header('set-cookie', setCookie);
      return { url };
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${AUTH}/identities/:id`,
    access: changesCredential,
    schema: {
      tags,
      summary: 'Unbind an account of yours; ends the sessions that it opened',
      params: IdPath,
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: by, params }) => {
      await unbindIdentity(platform, { id: params.id, operatorId: by.operatorId, by });
    },
  });
  routes.operator({
    method: 'POST',
    url: `${AUTH}/logout/provider`,
    access: changesOwn,
    schema: {
      tags,
      summary: 'Log out, and get the place to log out at the identity provider too',
      response: { 200: LogoutAnswer },
      refuses: ['unavailable'],
    },
    handler: async ({ operator: caller, request, reply }) => {
      const url = await logOut(deps, { caller, returnTo: `${originOf(request, baseUrl)}/login` });
      reply.header('set-cookie', cookies.close());
      return { url };
    },
  });
}
