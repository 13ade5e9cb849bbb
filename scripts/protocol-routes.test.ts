import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AgentClient, type Clients, openClients } from '../apps/server/src/testing/app-clients.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { NAMES } from './protocol-doc/held.ts';
import { agentRoutes, pathsOfAgents } from './protocol-doc/routes.ts';
import { readHeldTables } from './protocol-doc/tables.ts';

const ROUTES =
  readHeldTables(join(import.meta.dirname, '..')).find(({ name }) => name === 'routes')?.rows ?? [];
const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const NOBODY = '01900000-0000-7000-a000-00000000ffff';

describe('the routes of docs/protocol/endpoints.md', () => {
  test('are those that the server calls routes of agents, with class, body and answers', async () => {
    const { app } = await openClients(engine);
    await app.http.ready();
    const routes = agentRoutes(app.http.swagger(), NAMES);
    expect(ROUTES.map((row) => row.slice(0, 5))).toEqual(routes);
    const listed = routes.map(([method, path]) => `${method} ${path}`);
    expect(pathsOfAgents(app.http.swagger()).filter((route) => !listed.includes(route))).toEqual([]);
  });

  test('take a body of the size that the table names, and none that is larger by a byte', async () => {
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

  test('are open to an agent below the minimum version where the table says so', async () => {
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
    // The result that is sent here is of no command of theirs.
    expect(found).toEqual(held.map(([, path, , , , , old]) => [path, old === 'yes' ? 'yes' : 'no']));
  });
});

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
