import { request as httpRequest } from 'node:http';
import { AgentItem } from '@tidegate/protocol/agents-api';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { type AgentClient, openClients } from '../testing/app-clients.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';

const HOUR_MS = 3_600_000;
const Item = Type.Object(AgentItem.properties);
const Events = Type.Object({
  total: Type.Integer(),
  items: Type.Array(
    Type.Object({
      severity: Type.String(),
      component: Type.String(),
      agent_id: Type.String(),
      actor: Type.String(),
      content: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
});
const Renewed = Type.Object({ access_token: Type.String(), refresh_token: Type.String() });
const Page = Type.Object({ total: Type.Integer(), items: Type.Array(Item) });

async function openScene(engine: TestEngine) {
  const clients = await openClients(engine);
  const { app, admin, send } = clients;
  const { clock } = app.platform;
  const agent = await clients.enrol('machine-1');

  /** A check-in of a machine with the given boot id, from the given address of this computer. */
  async function checkIn(
    boot: string,
    { from = '127.0.0.1', uptime = 60, of = agent, keySet = 1 }: Partial<Visit> = {},
  ): Promise<number> {
    const body = {
      agent_version: '1.0.0',
      boot_id: boot,
      uptime_seconds: uptime,
      received: [],
      key_set_version: keySet,
      inventory_digest: {},
    };
    clock.advance(20_000);
    const { status } = await sendFrom(from, {
      port: Number(new URL(clients.base).port),
      path: `/api/v1/agents/${of.agentId}/check-in`,
      headers: {
        authorization: `Bearer ${of.accessToken}`,
        'x-machine-id': of.machineId,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    return status;
  }
  /** An hour later, with a fresh token. */
  async function anHourLater(): Promise<void> {
    clock.advance(HOUR_MS);
    const body = { refresh_token: agent.refreshToken };
    const url = '/api/v1/agents/renew';
    const answer = await send({ method: 'POST', url, machineId: agent.machineId, body });
    agent.accessToken = Value.Parse(Renewed, JSON.parse(answer.text)).access_token;
  }
  /** The refresh token of a renewal from there; empty if it is refused. */
  async function renewFrom(from: string, refreshToken: string): Promise<string> {
    const { status, text } = await sendFrom(from, {
      port: Number(new URL(clients.base).port),
      path: '/api/v1/agents/renew',
      headers: { 'x-machine-id': agent.machineId, 'content-type': 'application/json' },
      body: JSON.stringify({ refresh_token: refreshToken }),
    });
    return status === 200 ? Value.Parse(Renewed, JSON.parse(text)).refresh_token : '';
  }
  const get = async (url: string) => JSON.parse((await send({ method: 'GET', url, token: admin })).text);
  const shown = async (): Promise<Static<typeof Item>> =>
    Value.Parse(Item, await get(`/api/v1/agents/${agent.agentId}`));
  const events = async (type = 'CLONE_SUSPECTED') =>
    Value.Parse(Events, await get(`/api/v1/events?type=${type}`));
  const listed = async (query: string) => Value.Parse(Page, await get(`/api/v1/agents?${query}`)).total;
  const post = (url: string, body: object, token = admin) => send({ method: 'POST', url, token, body });
  return { ...clients, agent, clock, anHourLater, checkIn, renewFrom, shown, events, listed, post };
}

interface Visit {
  from: string;
  uptime: number;
  of: AgentClient;
  keySet: number;
}

describe.each(ENGINES)('T3: one identity at two places, on $name', (engine) => {
  test('boots A, B, A: the host shows the suspicion with its evidence, once', async () => {
    const { agent, checkIn, shown, events, listed } = await openScene(engine);
    await checkIn('boot-a');
    await checkIn('boot-b', { from: '127.0.0.2' });
    expect((await shown()).clone_suspected).toBeNull(); // a restart
    expect(await checkIn('boot-a')).toBe(200);
    const { clone_suspected: suspected } = await shown();
    expect(suspected?.evidence.map(({ boot_id, address }) => [boot_id, address])).toEqual([
      ['boot-a', '127.0.0.1'],
      ['boot-b', '127.0.0.2'],
      ['boot-a', '127.0.0.1'],
    ]);
    expect(suspected?.next_steps.map(({ act }) => act)).toEqual(['dismiss', 'rebind', 'revoke']);
    const { items, total } = await events();
    expect(total).toBe(1);
    expect(items[0]).toMatchObject({
      severity: 'error',
      component: 'agents',
      agent_id: agent.agentId,
      actor: 'server',
      content: { sign: 'boot_id_returned', evidence: suspected?.evidence },
    });
    expect([await listed('clone_suspected=true'), await listed('clone_suspected=false')]).toEqual([1, 0]);
  });

  test('an ongoing clone is one event an hour, with bounded evidence', async () => {
    const { anHourLater, checkIn, shown, events } = await openScene(engine);
    for (let round = 0; round < 30; round++) await checkIn(round % 2 === 0 ? 'boot-a' : 'boot-b');
    expect((await events()).total).toBe(1);
    const { clone_suspected: before } = await shown();
    expect(before?.evidence.length).toBe(20);
    await anHourLater();
    await checkIn('boot-a');
    expect((await events()).total).toBe(2);
    expect((await shown()).clone_suspected?.since).toBe(before?.since);
  });

  test('ten restarts are no clone, and only the last boots are kept', async () => {
    const { app, checkIn, shown } = await openScene(engine);
    for (let boot = 0; boot < 10; boot++) await checkIn(`boot-${boot}`);
    expect((await shown()).clone_suspected).toBeNull();
    const rows = await app.platform.database.read.selectFrom('agent_boots').select('boot_id').execute();
    expect(rows.map(({ boot_id }) => boot_id).toSorted()).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9].map((n) => `boot-${n}`),
    );
  });

  test('a machine whose uptime decreases without a restart', async () => {
    const { checkIn, shown, events } = await openScene(engine);
    await checkIn('boot-a', { uptime: 5_000 });
    await checkIn('boot-a', { uptime: 4_970, keySet: 2 }); // late, not younger
    expect((await events()).total).toBe(0);
    await checkIn('boot-a', { uptime: 4_900, keySet: 3 });
    expect((await events()).items[0]?.content).toMatchObject({ sign: 'uptime_went_back' });
    expect(await shown()).toMatchObject({ uptime_seconds: 4_900, key_set_version: 3 });
    expect((await shown()).clone_suspected?.evidence.length).toBe(2);
  });

  test('two addresses within one interval, with otherwise idle check-ins', async () => {
    const { checkIn, shown, events } = await openScene(engine);
    await checkIn('boot-a');
    await checkIn('boot-a');
    await checkIn('boot-a', { from: '127.0.0.2' });
    expect((await events()).total).toBe(0); // moved
    await checkIn('boot-a');
    expect((await events()).items[0]?.content).toMatchObject({ sign: 'address_alternates' });
    expect((await shown()).clone_suspected?.evidence.map(({ address }) => address)).toEqual([
      '127.0.0.1',
      '127.0.0.2',
      '127.0.0.1',
    ]);
  });

  test('a host whose address changes at each check-in is one host', async () => {
    const { clock, checkIn, events } = await openScene(engine);
    for (let round = 0; round < 6; round++) {
      await checkIn('boot-a', { from: round % 2 === 0 ? '127.0.0.1' : '127.0.0.2' });
      clock.advance(35_000);
    }
    expect((await events()).total).toBe(0);
  });

  test('an operator dismisses the suspicion: with a reason, an event, and silence until new evidence', async () => {
    const { app, agent, anHourLater, approver, checkIn, shown, events, post } = await openScene(engine);
    const url = `/api/v1/agents/${agent.agentId}/dismiss-clone`;
    const reason = 'set back to a snapshot';
    expect((await post(url, { reason })).code).toBe('conflict'); // nothing is suspected
    for (const boot of ['boot-a', 'boot-b', 'boot-a']) await checkIn(boot);
    expect((await post(url, {})).code).toBe('invalid_request');
    expect((await post(url, { reason: ' ' })).code).toBe('invalid_request');
    expect((await post(url, { reason }, approver)).code).toBe('forbidden');
    expect((await post(url.replace(agent.agentId, app.platform.newId()), { reason })).code).toBe('not_found');
    const answer = await post(url, { reason });
    expect(JSON.parse(answer.text).clone_suspected).toBeNull();
    expect((await events('CLONE_DISMISSED')).items).toMatchObject([
      { severity: 'warning', agent_id: agent.agentId, actor: 'admin', content: { reason } },
    ]);
    expect((await post(url, { reason })).code).toBe('conflict');
    await checkIn('boot-b'); // forgotten: a restart
    expect((await shown()).clone_suspected).toBeNull();
    await anHourLater();
    await checkIn('boot-c');
    await checkIn('boot-b');
    expect((await shown()).clone_suspected).not.toBeNull();
    expect((await events()).total).toBe(2);
  });

  test.each([
    ['rebind', (id: string) => `/api/admin/agents/${id}/rebind-machine-id`],
    ['revoke', (id: string) => `/api/v1/agents/${id}/revoke`],
  ])('%s ends the suspicion', async (_, urlOf) => {
    const { agent, checkIn, shown, post } = await openScene(engine);
    for (const boot of ['boot-a', 'boot-b', 'boot-a']) await checkIn(boot);
    expect((await post(urlOf(agent.agentId), { reason: 'moved' })).status).toBe(200);
    expect((await shown()).clone_suspected).toBeNull();
  });

  test('a copy with all of its memory is refused at its second renewal, and the event names address and last check-in', async () => {
    const { agent, clock, checkIn, renewFrom, events, shown } = await openScene(engine);
    await checkIn('boot-a');
    const atMs = clock.now();
    const copied = agent.refreshToken;
    const next = await renewFrom('127.0.0.1', copied);
    await renewFrom('127.0.0.1', next);
    expect(await renewFrom('127.0.0.2', copied)).toBe('');
    const [reuse] = (await events('REFRESH_TOKEN_REUSE')).items;
    expect(reuse).toMatchObject({
      severity: 'critical',
      agent_id: agent.agentId,
      content: {
        machine_id: 'machine-1',
        address: '127.0.0.2',
        last_seen: { at: new Date(atMs).toISOString(), boot_id: 'boot-a', address: '127.0.0.1' },
      },
    });
    expect(JSON.stringify(reuse)).not.toContain(copied);
    expect((await shown()).status).toBe('revoked');
  });

  test('a clone does not make another host suspected', async () => {
    const { enrol, agent, checkIn, listed } = await openScene(engine);
    const other = await enrol('machine-2');
    for (const of of [agent, other]) await checkIn('boot-a', { of });
    await checkIn('boot-b', { of: other });
    expect(await listed('clone_suspected=true')).toBe(0);
  });
});

function sendFrom(
  localAddress: string,
  {
    port,
    path,
    headers,
    body,
  }: { port: number; path: string; headers: Record<string, string>; body: string },
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const options = { host: '127.0.0.1', port, path, method: 'POST', localAddress, headers };
  const request = httpRequest({ ...options, agent: false }, (answer) => {
    const pieces: Buffer[] = [];
    answer.on('data', (piece: Buffer) => pieces.push(piece));
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString() }),
    );
  });
  request.on('error', reject);
  request.setHeader('content-length', Buffer.byteLength(body));
  request.end(body);
  return promise;
}
