import {
  LoginAnswer,
  LoginRequest,
  OperatorIdentity,
  SessionAnswer,
  SetupRequest,
} from '@tidegate/protocol/operators-api';
import { rfc3339Seconds } from '../platform/clock.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type App, operatorOf } from '../platform/http/server.ts';
import { addressKey } from '../rate-limits/keys.ts';
import { setUpFirstOperator } from './first-operator.ts';
import { readGroups } from './group-list.ts';
import { type LogInDeps, logIn } from './log-in.ts';
import { isSameOrigin } from './operator-guard.ts';
import { identityView } from './operator-view.ts';
import type { SessionCookies } from './session-cookies.ts';
import { findLiveSession, type OperatorRow, revokeSession } from './store.ts';

/** Bodies of logins are small; 64 KiB is what the checklist allows. */
const AUTH_BODY_MAX_BYTES = 65_536;
const tags = ['authentication'];

/** Log in, log out, who am I, and the first operator by the one-time link. */
export function mountAuth(app: App, deps: LogInDeps & { cookies: SessionCookies }): void {
  const { platform, passwords, cookies } = deps;
  app.route({
    method: 'POST',
    url: '/api/v1/auth/login',
    config: { access: { kind: 'public', limit: 'login' }, bodyMaxBytes: AUTH_BODY_MAX_BYTES },
    schema: { tags, summary: 'Log in', body: LoginRequest, response: { 200: LoginAnswer } },
    handler: async (request, reply) => {
      // Another site must not log a browser in as somebody else.
      if (!isSameOrigin(request))
        throw new Refusal('forbidden', { detail: 'The request comes from another site.' });
      const { username, password } = request.body;
      const { operator, token, csrfToken, expiresAtMs } = await logIn(deps, {
        username,
        password,
        address: request.ip,
      });
      reply.header('set-cookie', cookies.open({ token, csrfToken }));
      return { token, expires_at: rfc3339Seconds(expiresAtMs), operator: identityOfRow(operator) };
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/logout',
    config: { access: { kind: 'operator', role: 'viewer', limit: 'admin_operations', reach: 'none' } },
    schema: { tags, summary: 'Log out: the token is dead from now on' },
    handler: async (request, reply) => {
      const { sessionId } = operatorOf(request);
      await platform.database.transact((tx) => revokeSession(tx, sessionId, platform.now()));
      return reply.code(204).header('set-cookie', cookies.close()).send();
    },
  });
  app.route({
    method: 'GET',
    url: '/api/v1/auth/session',
    config: { access: { kind: 'operator', role: 'viewer', limit: 'admin_reads', reach: 'none' } },
    schema: { tags, summary: 'Whose session this is', response: { 200: SessionAnswer } },
    handler: async (request) => {
      const { operatorId, sessionId, username, role, groups } = operatorOf(request);
      const query = { operatorId, sessionId, nowMs: platform.now() };
      const session = await findLiveSession(platform.database.read, query);
      if (!session) throw new Refusal('access_token_invalid', { detail: 'Log in to use this.' });
      return {
        operator: identityView({ id: operatorId, username, role, groups }),
        expires_at: rfc3339Seconds(session.expires_at),
      };
    },
  });
  app.route({
    method: 'POST',
    url: '/api/v1/auth/setup',
    config: { access: { kind: 'public', limit: 'login' }, bodyMaxBytes: AUTH_BODY_MAX_BYTES },
    schema: {
      tags,
      summary: 'Make the first operator with the one-time secret; not there once one exists',
      body: SetupRequest,
      response: { 201: OperatorIdentity },
    },
    handler: async (request, reply) => {
      const operator = await setUpFirstOperator(platform, passwords, request.body);
      platform.log.info('first operator created', { address: addressKey(request) });
      return reply.code(201).send(identityOfRow(operator));
    },
  });
}

function identityOfRow(row: OperatorRow): OperatorIdentity {
  return identityView({ ...row, groups: readGroups(row.groups) });
}
