import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { addOperator } from '../operators/change-operators.ts';
import { LIMIT_CLASSES } from '../platform/http/access.ts';
import { createCheapPasswords } from './cheap-passwords.ts';
import type { TestEngine } from './engines.ts';
import { createTestApp, TEST_ADMIN, type TestApp } from './test-app.ts';

export const OPERATOR_PASSWORD = 'a long enough password';
const Enrolled = Type.Object({
  agent_id: Type.String(),
  access_token: Type.String(),
  refresh_token: Type.String(),
});
const WithCode = Type.Object({ code: Type.String() });
const WithToken = Type.Object({ token: Type.String() });

export interface AgentClient {
  agentId: string;
  machineId: string;
  accessToken: string;
  refreshToken: string;
  registrationToken: string;
}

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  token?: string;
  machineId?: string;
  /** Session token to send in the console's cookie. */
  cookie?: string;
  body?: object;
  headers?: Readonly<Record<string, string>>;
}

export interface Clients {
  app: TestApp;
  /** The application's address. */
  base: string;
  admin: string;
  viewer: string;
  approver: string;
  send(request: Request): Promise<{ status: number; code: string | null; text: string }>;
  /** Creates a registration token and enrols a host with it. */
  enrol(machineId: string): Promise<AgentClient>;
  logIn(role: 'viewer' | 'approver'): Promise<string>;
}

/**
 * The whole application, listening, with one operator of each role, past the start-up penalty and with limits
 * that no test reaches. Requests go over a socket: some are answered before the framework sees them.
 */
export async function openClients(
  engine: TestEngine,
  settings: Parameters<typeof createTestApp>[1] = {},
): Promise<Clients> {
  const app = await createTestApp(engine, settings);
  // Without the background work of a real start.
  const base = await app.http.listen({ host: '127.0.0.1', port: 0 });
  const admin = await app.adminToken();
  app.platform.clock.advance(61_000);

  async function send({ method, url, token, machineId, cookie, body, headers }: Request) {
    const answer = await fetch(base + url, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(machineId === undefined ? {} : { 'x-machine-id': machineId }),
        ...(cookie === undefined ? {} : { cookie: `tidegate_session=${cookie}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isProblem = answer.headers.get('content-type') === 'application/problem+json';
    return {
      status: answer.status,
      code: isProblem ? Value.Parse(WithCode, JSON.parse(text)).code : null,
      text,
    };
  }

  async function demand(request: Request, status: number): Promise<unknown> {
    const answer = await send(request);
    if (answer.status === status) return answer.text === '' ? null : JSON.parse(answer.text);
    throw new Error(`${request.method} ${request.url} answered ${answer.status}: ${answer.text}`);
  }

  async function logIn(role: 'viewer' | 'approver'): Promise<string> {
    const body = { username: role, password: OPERATOR_PASSWORD };
    return Value.Parse(WithToken, await demand({ method: 'POST', url: '/api/v1/auth/login', body }, 200))
      .token;
  }

  const wide = Object.fromEntries(LIMIT_CLASSES.map((name) => [name, { requests: 100_000 }]));
  const url = '/api/v1/admin/rate-limits';
  await demand({ method: 'PUT', url, token: admin, body: { classes: wide } }, 200);
  const passwords = createCheapPasswords(app.platform.random);
  for (const role of ['viewer', 'approver'] as const) {
    const asked = { username: role, password: OPERATOR_PASSWORD, role };
    await addOperator(app.platform, passwords, {
      asked,
      by: { username: TEST_ADMIN.username, address: null, sessionId: '' },
    });
  }

  return {
    app,
    base,
    admin,
    viewer: await logIn('viewer'),
    approver: await logIn('approver'),
    send,
    logIn,
    async enrol(machineId) {
      const tokens = '/api/v1/admin/registration-tokens';
      const made = await demand(
        { method: 'POST', url: tokens, token: admin, body: { label: machineId } },
        201,
      );
      const { token } = Value.Parse(WithToken, made);
      const body = {
        hostname: machineId,
        os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
        agent_version: '1.0.0',
      };
      const register = { method: 'POST', url: '/api/v1/agents/register', token, machineId, body } as const;
      const enrolled = Value.Parse(Enrolled, await demand(register, 201));
      return {
        agentId: enrolled.agent_id,
        machineId,
        accessToken: enrolled.access_token,
        refreshToken: enrolled.refresh_token,
        registrationToken: token,
      };
    },
  };
}
