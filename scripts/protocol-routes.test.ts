import { join } from 'node:path';
import { Problem } from '@tidegate/protocol/problems';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { type AgentClient, type Clients, openClients } from '../apps/server/src/testing/app-clients.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { NAMES } from './protocol-doc/held.ts';
import { agentRoutes, pathsOfAgents } from './protocol-doc/routes.ts';
import { readHeldTables } from './protocol-doc/tables.ts';

const TABLES = readHeldTables(join(import.meta.dirname, '..'));
const ROUTES = rowsOf('routes');
const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is missing from the list of engines');
const NOBODY = '01900000-0000-7000-a000-00000000ffff';

describe('the routes of docs/protocol/endpoints.md', () => {
  test('are those that the server documents as agent routes, with class, body and answers', async () => {
    const { app } = await openClients(engine);
    await app.http.ready();
    const routes = agentRoutes(app.http.swagger(), NAMES);
    expect(ROUTES.map((row) => row.slice(0, 5))).toEqual(routes);
    const listed = routes.map(([method, path]) => `${method} ${path}`);
    expect(pathsOfAgents(app.http.swagger()).filter((route) => !listed.includes(route))).toEqual([]);
  });

  test('accept a body of the size in the table, and none that is one byte larger', async () => {
    const clients = await openClients(engine);
    const agent = await clients.enrol('machine-1');
    const withBody = ROUTES.filter(([method]) => method !== 'GET');
    const found = [];
    for (const [method = '', path = '', , , , largest = ''] of withBody) {
      const send = (bytes: number) => call(clients, agent, { method, path, body: ' '.repeat(bytes) });
      found.push([path, await send(Number(largest)), await send(Number(largest) + 1)]);
    }
    expect(found).toEqual(withBody.map(([, path]) => [path, 400, 413]));
  });

  test('accept an agent below the minimum version exactly where the table says so', async () => {
    const clients = await openClients(engine, { minAgentVersion: '1.0.0' });
    const agent = await clients.enrol('machine-1');
    expect(await checkIn(clients, agent, '0.9.0')).toBe(200);
    const ofAgents = pathsOfAgents(clients.app.http.swagger());
    const held = ROUTES.filter(([method, path]) => ofAgents.includes(`${method} ${path}`));
    const found = [];
    for (const [method = '', path = ''] of held) {
      const body = path.endsWith('/result') ? '{"status":"running"}' : '{}';
      const status = await call(clients, agent, { method, path, ...(method === 'GET' ? {} : { body }) });
      found.push([path, status === 426 ? 'no' : 'yes']);
    }
    // The result sent here belongs to none of the agents' commands.
    expect(found).toEqual(held.map(([, path, , , , , old]) => [path, old === 'yes' ? 'yes' : 'no']));
  });
});

/** Rows that no request below covers; the tests of each part check them. */
const NOT_TRIED = ['the head of', "the agent's budget", 'what the endpoint'];

test('the order of checks of docs/protocol/requests.md is that of the server: each request fixes one more fault', async () => {
  const clients = await openClients(engine, { minAgentVersion: '1.0.0' });
  const { platform } = clients.app;
  const expired = await clients.enrol('machine-1');
  platform.clock.advance(16 * 60_000);
  const gone = await clients.enrol('machine-2');
  const agent = await clients.enrol('machine-3');
  // Both actions need a recent proof of identity.
  const token = await clients.app.adminToken();
  const act = (url: string, body: object) => clients.send({ method: 'POST', url, token, body });
  expect((await act(`/api/v1/agents/${gone.agentId}/revoke`, {})).status).toBe(200);
  expect(await checkIn(clients, agent, '0.9.0')).toBe(200);
  const rebind = `/api/admin/agents/${agent.agentId}/rebind-machine-id`;
  expect((await act(rebind, { reason: 'test' })).status).toBe(200);

  const [path, foreign] = [`/api/v1/agents/${agent.agentId}/events`, `/api/v1/agents/${NOBODY}/events`];
  const faulty = { 'content-type': 'application/json', 'content-encoding': 'br' };
  const bearing = ({ accessToken }: AgentClient) => ({ ...faulty, authorization: `Bearer ${accessToken}` });
  const whole = { ...bearing(agent), 'x-machine-id': agent.machineId };
  const { 'content-encoding': _, ...readable } = whole;
  const found = [
    await codeOf(clients, '/api/v1/agents/nothing/at/all', faulty),
    await codeOf(clients, foreign, faulty),
    await codeOf(clients, foreign, { ...faulty, authorization: 'Bearer nonsense' }),
    await codeOf(clients, foreign, bearing(expired)),
    await codeOf(clients, foreign, bearing(gone)),
    await codeOf(clients, foreign, bearing(agent)),
    await codeOf(clients, foreign, whole),
  ];
  expect(await checkIn(clients, agent, '0.9.0')).toBe(200);
  found.push(await codeOf(clients, foreign, whole), await codeOf(clients, path, whole));
  expect(await checkIn(clients, agent, '1.0.0')).toBe(200);
  found.push(await codeOf(clients, path, whole), await codeOf(clients, path, readable));

  const rows = rowsOf('order of checks').filter(
    ([check = '']) => !NOT_TRIED.some((one) => check.startsWith(one)),
  );
  const unlike = rows.filter(([, answers = ''], at) => !answers.split(', ').includes(found[at] ?? ''));
  expect([unlike, found.length]).toEqual([[], rows.length]);
});

function rowsOf(name: string): readonly (readonly string[])[] {
  return TABLES.find((table) => table.name === name)?.rows ?? [];
}

/** Status and code of the answer to a body that is not JSON. */
async function codeOf({ base }: Clients, path: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(base + path, { method: 'POST', headers, body: 'nonsense' });
  const { code } = Value.Parse(Problem, await answer.json());
  return `${answer.status} ${code}`;
}

function checkIn(clients: Clients, agent: AgentClient, agentVersion: string): Promise<number> {
  const facts = { agent_version: agentVersion, boot_id: 'b', uptime_seconds: 1, received: [] };
  const body = JSON.stringify({ ...facts, key_set_version: 1, inventory_digest: {} });
  return call(clients, agent, { method: 'POST', path: '/api/v1/agents/{agent_id}/check-in', body });
}

async function call(
  { base }: Clients,
  { agentId, accessToken, machineId }: AgentClient,
  { method, path, body }: { method: string; path: string; body?: string },
): Promise<number> {
  const url = path
    .replace('{agent_id}', agentId)
    .replace('{ecosystem}', 'apt')
    .replace('{report_sha256}', '0'.repeat(64))
    .replace('{part}', '1?parts=2')
    .replace(/\{\w+\}/g, NOBODY);
  const headers = { authorization: `Bearer ${accessToken}`, 'x-machine-id': machineId };
  const answer = await fetch(base + url, {
    method,
    ...(body === undefined
      ? { headers }
      : { headers: { ...headers, 'content-type': 'application/json' }, body }),
  });
  await answer.arrayBuffer();
  return answer.status;
}
