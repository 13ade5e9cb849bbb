import { Type } from 'typebox';
import { createAccessTokens } from '../agent-credentials/access-tokens.ts';
import { bearerToken } from '../agent-credentials/bearer.ts';
import { refreshTagKey } from '../agent-credentials/refresh-tokens.ts';
import type { RenewalDeps } from '../agent-credentials/renew-tokens.ts';
import { mountAgentCredentials } from '../agent-credentials/routes.ts';
import { agentDirectory } from '../agents/agent-directory.ts';
import { createAgentDoor } from '../agents/agent-door.ts';
import { createAgentGuard } from '../agents/agent-guard.ts';
import { bindMachine } from '../agents/bind-machine.ts';
import { createCallerReader } from '../agents/read-callers.ts';
import { mountAgents } from '../agents/routes.ts';
import { mountHostCommands } from '../commands/host-commands.ts';
import { mountEnrolment } from '../enrolment/routes.ts';
import type { Database } from '../platform/db/engine.ts';
import { LIMIT_CLASSES } from '../platform/http/access.ts';
import { roleIncludes } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { createHttpServer } from '../platform/http/server.ts';
import { NO_SECOND_FACTOR } from '../platform/http/step-up.ts';
import { createAddressGuard } from '../rate-limits/address-guard.ts';
import { type Budget, createBudgets, DEFAULT_BUDGETS } from '../rate-limits/budgets.ts';
import { createLimiter } from '../rate-limits/limiter.ts';
import { createPublicGuard } from '../rate-limits/public-guard.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { checkAnswers } from './check-answers.ts';
import { createTestPlatform } from './test-platform.ts';

export const TEST_SECRET = Buffer.alloc(48, 7);
const ROLES = ['viewer', 'approver', 'admin'] as const;

/**
 * The slices for agents' credentials over real HTTP handlers and a real database. Operators log in with the name of
 * their role; check-in is a stand-in that binds as the real one does. No start-up penalty, wide limits.
 */
export function createAgentsApp(
  database: Database,
  options: {
    budgets?: Partial<typeof DEFAULT_BUDGETS>;
    minAgentVersion?: string;
    seed?: string;
    familyMaxAgeMs?: number;
    /** Programs that a test starts are no test: nobody would hear of a difference. */
    isProgram?: boolean;
  } = {},
) {
  const platform = createTestPlatform(database, options.seed === undefined ? {} : { seed: options.seed });
  const wide: Budget = { requests: 100_000, windowSeconds: 60, enabled: true };
  const budgets = createBudgets({
    ...DEFAULT_BUDGETS,
    ...Object.fromEntries(LIMIT_CLASSES.map((limitClass) => [limitClass, wide])),
    ...options.budgets,
  });
  const limits = { now: platform.now, bootedAt: 0, budgets, random: platform.random };
  const limiter = createLimiter(limits);
  const accessTokens = createAccessTokens({ ...platform, secret: TEST_SECRET, verifiedMaxBytes: 1_048_576 });
  const tagKey = refreshTagKey(TEST_SECRET);
  const { familyMaxAgeMs = null } = options;
  const renewal: RenewalDeps = { platform, tagKey, directory: agentDirectory, familyMaxAgeMs };
  /** The commands of all hosts, in the order of queueing. */
  const queued = async () => {
    const rows = await database.read.selectFrom('agent_commands').selectAll().orderBy('id').execute();
    return rows.map(({ agent_id: agentId, created_by: createdBy, action, params }) => {
      return { agentId, createdBy, action, params: JSON.parse(params) };
    });
  };
  const app = createHttpServer({
    log: platform.log,
    trustedProxies: [],
    tls: null,
    guards: {
      public: createPublicGuard(limiter),
      anyone: async () => null,
      own: createAddressGuard({ ...limits, limiter }),
      agent: createAgentGuard({
        platform,
        door: createAgentDoor({
          config: { minAgentVersion: options.minAgentVersion ?? null },
          limiter,
          accessTokens,
          readCaller: createCallerReader(database),
        }),
      }),
      operator: async (request, access) => {
        // `admin@web,db`: an admin bound to those groups.
        const [name, groups] = bearerToken(request.headers.authorization)?.split('@') ?? [];
        const role = ROLES.find((one) => one === name);
        if (!role) throw new Refusal('unauthenticated', { detail: 'Log in.' });
        if (!roleIncludes(role, access.role)) throw new Refusal('forbidden', { detail: 'Not allowed.' });
        return {
          operatorId: role,
          username: role,
          role,
          groups: groups?.split(',') ?? null,
          sessionId: 'session',
          address: '127.0.0.1',
          secondFactor: NO_SECOND_FACTOR,
        };
      },
    },
  });
  if (!options.isProgram) checkAnswers(app);
  mountAgentCredentials(app.routes, { ...renewal, limiter, accessTokens });
  mountAgents(app.routes, {
    platform,
    heldOf: async () => new Map(),
    upToDate: () => hostsUpToDate(platform),
  });
  mountHostCommands(app.routes, { platform });
  mountEnrolment(app.routes, {
    platform,
    accessTokens,
    tagKey,
    familyMaxAgeMs,
    minAgentVersion: options.minAgentVersion ?? null,
    keyRing: {
      keySet: () => ({
        version: 1,
        envelope: { payloadType: 'type', payload: 'AA==', signatures: [{ keyid: 'k', sig: 'AA==' }] },
        keys: [],
        root: null,
      }),
    },
  });
  const schema = { summary: 'For tests', tags: ['test'], response: { 200: Type.Unknown() } };
  app.routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/check-in',
    access: { limit: 'agent_checkin', bind: true, old: true },
    schema,
    handler: async ({ agent: { agentId, machineId, bound } }) => {
      if (bound) return { bound: 'before' };
      const args = { agentId, machineId, by: 'check-in' } as const;
      return { bound: await database.transact((tx) => bindMachine(tx, platform, args)) };
    },
  });
  app.routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/events',
    access: { limit: 'agent_reports' },
    schema,
    handler: async ({ agent }) => agent,
  });
  return { app, platform, renewal, accessTokens, queued, budgets };
}

export type AgentsApp = ReturnType<typeof createAgentsApp>;

export interface EnrolledAgent {
  agent_id: string;
  access_token: string;
  refresh_token: string;
  machineId: string;
}

/** One request; the body of the answer is parsed without any check. */
export async function call(
  { app }: Pick<AgentsApp, 'app'>,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  { token, machineId, body }: { token?: string; machineId?: string | undefined; body?: object } = {},
) {
  const answer = await app.inject({
    method,
    url,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(machineId === undefined ? {} : { 'x-machine-id': machineId }),
    },
    ...(body === undefined ? {} : { payload: body }),
  });
  const json = answer.body === '' ? null : answer.json();
  return { status: answer.statusCode, code: json?.code, body: json, headers: answer.headers };
}

export async function makeRegistrationToken(it: AgentsApp, seats = 1): Promise<string> {
  const url = '/api/v1/admin/registration-tokens';
  const { body } = await call(it, 'POST', url, { token: 'admin', body: { label: 'test', seats } });
  return body.token;
}

export const HOST = {
  hostname: 'host-1',
  os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
  agent_version: '1.0.0',
};

export async function enrol(
  it: AgentsApp,
  machineId = 'machine-1',
  hostname = 'host-1',
): Promise<EnrolledAgent> {
  const token = await makeRegistrationToken(it);
  const { status, body } = await call(it, 'POST', '/api/v1/agents/register', {
    token,
    machineId,
    body: { ...HOST, hostname },
  });
  if (status !== 201) throw new Error(`enrolment answered ${status}`);
  return { ...body, machineId };
}

export async function renewal(
  it: AgentsApp,
  refresh_token: string,
  { machineId = 'machine-1', requestId }: { machineId?: string | null; requestId?: string } = {},
) {
  return call(it, 'POST', '/api/v1/agents/renew', {
    machineId: machineId ?? undefined,
    body: { refresh_token, ...(requestId === undefined ? {} : { request_id: requestId }) },
  });
}

/** Types of the events about agents so far, oldest first. */
export async function eventTypes(it: AgentsApp): Promise<string[]> {
  const { read } = it.platform.database;
  const rows = await read
    .selectFrom('events')
    .select('type')
    .where('agent_id', 'is not', null)
    .orderBy('position')
    .execute();
  return rows.map((row) => row.type);
}
