import { API_SCOPES, type ApiScope } from '@tidegate/protocol/api-tokens-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { hashApiSecret, makeApiSecret } from '../api-tokens/secrets.ts';
import { sealed } from '../platform/db/row-seals.ts';
import { LIMIT_CLASSES } from '../platform/http/access.ts';
import type { Method } from './named-places.ts';
import { TEST_ADMIN, type TestApp } from './test-app.ts';

const ROLES = ['viewer', 'approver', 'admin'] as const;
const LoggedIn = Type.Object({ token: Type.String() });
const Made = Type.Object({ id: Type.String() });
const Enrolled = Type.Object({ agent_id: Type.String(), access_token: Type.String() });

export interface Caller {
  name: string;
  headers: Readonly<Record<string, string>>;
  /** The largest set of rows it may reach: every host's, those of group `ours`, of one host, or none. */
  reach: 'fleet' | 'ours' | 'own host' | 'nothing';
  /** Of those who log in; null for agents, API tokens and callers without credentials. */
  operatorId: string | null;
  role: (typeof ROLES)[number] | null;
  agentId?: string;
}

export interface Sent {
  method: Method;
  url: string;
  body?: object | undefined;
}
export interface Answer {
  status: number;
  text: string;
}

export async function send(
  { http }: TestApp,
  { headers }: Pick<Caller, 'headers'>,
  { method, url, body }: Sent,
): Promise<Answer> {
  const answer = await http.inject({
    method,
    url,
    headers: { ...headers },
    ...(body ? { payload: body } : {}),
  });
  return { status: answer.statusCode, text: answer.body };
}

/** Every kind of caller, past the start-up penalty and below all limits; the first is an admin. */
export async function openCallers(app: TestApp): Promise<readonly [Caller, ...Caller[]]> {
  app.platform.clock.advance(61_000);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const root = { headers: bearer(await app.adminToken()) };
  const wide = Object.fromEntries(LIMIT_CLASSES.map((name) => [name, { requests: 100_000 }]));
  await send(app, root, { method: 'PUT', url: '/api/v1/admin/rate-limits', body: { classes: wide } });
  async function operator(role: (typeof ROLES)[number], reach: 'fleet' | 'ours'): Promise<Caller> {
    const name = `${role} of ${reach === 'fleet' ? 'the whole fleet' : 'a group'}`;
    const username = `${role}-${reach}`;
    const body = { username, password: TEST_ADMIN.password };
    const groups = reach === 'fleet' ? null : ['ours'];
    const url = '/api/v1/admin/operators';
    const made = await send(app, root, { method: 'POST', url, body: { ...body, role, groups } });
    const { id } = Value.Parse(Made, JSON.parse(made.text));
    const { text } = await send(app, { headers: {} }, { method: 'POST', url: '/api/v1/auth/login', body });
    const { token } = Value.Parse(LoggedIn, JSON.parse(text));
    return { name, headers: bearer(token), reach, operatorId: id, role };
  }

  async function apiToken(maker: Caller, scopes: readonly ApiScope[] | null): Promise<Caller> {
    const secret = makeApiSecret(app.platform.random);
    const nowMs = app.platform.now();
    const name = `API token of ${maker.name}, ${scopes === null ? 'without scopes' : `for ${scopes.join(', ')}`}`;
    await app.platform.database.transact((tx) =>
      tx
        .insertInto('api_tokens')
        .values(
          sealed(tx, 'api_tokens', {
            ...{ id: app.platform.newId(), operator_id: maker.operatorId ?? '', label: name },
            ...{ secret_hash: hashApiSecret(secret) ?? '', role: maker.role ?? 'viewer' },
            ...{ groups: null, scopes: scopes === null ? null : JSON.stringify(scopes), created_by: 'ada' },
            ...{ created_at: nowMs, expires_at: nowMs + 86_400_000, last_used_at: nowMs, revoked_at: null },
          }),
        )
        .execute(),
    );
    return { ...maker, name, headers: bearer(secret), operatorId: null };
  }

  async function agent(group: string): Promise<Caller> {
    const tokens = { method: 'POST', url: '/api/v1/admin/registration-tokens' } as const;
    const made = await send(app, root, { ...tokens, body: { label: group, group } });
    const machine = { 'x-machine-id': `machine-of-${group}` };
    const seat = { headers: { ...bearer(Value.Parse(LoggedIn, JSON.parse(made.text)).token), ...machine } };
    const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
    const body = { hostname: group, os, agent_version: '1.0.0' };
    const enrolled = await send(app, seat, { method: 'POST', url: '/api/v1/agents/register', body });
    const { agent_id: agentId, access_token } = Value.Parse(Enrolled, JSON.parse(enrolled.text));
    const headers = { ...bearer(access_token), ...machine };
    return { name: `agent of ${group}`, headers, reach: 'own host', operatorId: null, role: null, agentId };
  }

  const first = await operator('admin', 'fleet');
  const others = [await operator('viewer', 'fleet'), await operator('approver', 'fleet')];
  for (const role of ROLES) others.push(await operator(role, 'ours'));
  // None of these has a factor, so none is asked for a fresh one.
  await app.platform.database.transact(async (tx) => {
    for (const session of await tx.selectFrom('operator_sessions').selectAll().execute()) {
      const fresh = sealed(tx, 'operator_sessions', { ...session, second_factor_at: app.platform.now() });
      await tx.updateTable('operator_sessions').set(fresh).where('id', '=', session.id).execute();
    }
  });
  const callers: Caller[] = [];
  for (const one of [first, ...others]) {
    callers.push(await apiToken(one, null), await apiToken(one, ['read']));
    if (one.role === 'admin') callers.push(await apiToken(one, API_SCOPES));
  }
  const nobody = { name: 'nobody', headers: {}, reach: 'nothing', operatorId: null, role: null } as const;
  return [first, ...others, ...callers, nobody, await agent('ours'), await agent('theirs')];
}
