import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NotificationChannel } from '@tidegate/protocol/notifications-api';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import { SAMPLED_ENGINES } from '../apps/server/src/testing/engines.ts';
import { enrolBareAgent } from './harness/bare-agent.ts';
import { expectAnswer, liftLimits, logIn, type Operator, pause } from './harness/operator.ts';
import { startServer } from './harness/server-process.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
/** Each host may report 2,000 events a day. */
const HOSTS = isLong ? 5 : 1;
const REPORTS_A_HOST = isLong ? 20 : 3;
const EVENTS_A_REPORT = 100;
const TOTAL = HOSTS * REPORTS_A_HOST * EVENTS_A_REPORT;
const KILLS = isLong ? 8 : 2;
const API = '/api/v1/notifications';

const Page = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String() })),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
});
const Sent = Type.Object({
  data: Type.Object({ events: Type.Array(Type.Object({ id: Type.String() })) }),
});

test.each(SAMPLED_ENGINES)(
  `kill -9 of the server between and during deliveries of ${TOTAL} events loses none, on $name`,
  async (engine) => {
    const receiver = await startReceiver();
    const osv = await startFakeOsv({ covered: [] });
    onTestFinished(() => osv.stop());
    const server = await startServer({
      ...(await engine.place()),
      advisoryUrl: osv.url,
      env: { SERVICE_PRIVATE_DESTINATIONS: '127.0.0.1' },
    });
    onTestFinished(async () => void (await server.stop()));
    const operator = await logIn(server.url);
    await liftLimits(operator);
    await addRule(operator, await addChannel(operator, receiver.url));
    await addRule(operator, await addChannel(operator, 'http://127.0.0.1:9/nobody'));

    let next = receiver.holdNext();
    for (let n = 0; n < HOSTS; n += 1) {
      const registrationToken = await operator.registrationToken();
      const host = { registrationToken, machineId: `machine-${n}`, hostname: `host-${n}` };
      const agent = await enrolBareAgent(server.url, host);
      for (let i = 0; i < REPORTS_A_HOST; i += 1) {
        const told = {
          type: 'AGENT_ERROR',
          severity: 'error',
          at: new Date().toISOString(),
          message: `failure ${i}`,
          details: {},
        };
        const events = Array.from({ length: EVENTS_A_REPORT }, (_, k) => ({ ...told, details: { k } }));
        expect(await agent.call('POST', '/events', { events })).toMatchObject({ status: 202 });
      }
    }
    for (let kill = 0; kill < KILLS; kill += 1) {
      // The receiver has the message, and the server dies without its answer.
      const held = await next;
      await server.kill();
      held.destroy();
      if (kill + 1 < KILLS) next = receiver.holdNext();
      await server.restart();
    }
    const told = await idsInLog(operator);
    expect(told.length).toBe(TOTAL);
    while (told.some((id) => !receiver.events.has(id))) await pause(50);
    expect(receiver.repeats).toBeGreaterThan(0);
    // Repeats carry the id of the first attempt: with it every event is there once.
    const once = [...receiver.messages.values()].flat();
    expect([once.length, new Set(once).size]).toEqual([TOTAL, TOTAL]);
  },
  isLong ? 300_000 : 60_000,
);

async function addChannel(operator: Operator, url: string): Promise<string> {
  const config = { kind: 'webhook', url, allow_http: true };
  const body = { name: `to ${url}`, is_enabled: true, config };
  return expectAnswer(await operator.call('POST', `${API}/channels`, body), 201, NotificationChannel).id;
}

async function addRule(operator: Operator, channelId: string): Promise<void> {
  const conditions = { event_types: ['AGENT_ERROR'], minimum_severity: 'info', groups: [], ecosystems: [] };
  const body = {
    ...{ name: `of ${channelId}`, is_enabled: true, channel_id: channelId, quiet_hours: null },
    conditions: { ...conditions, exploited_only: false },
    mode: { kind: 'at_once', batch_seconds: 0 },
  };
  expect(await operator.call('POST', `${API}/rules`, body)).toMatchObject({ status: 201 });
}

async function idsInLog(operator: Operator): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const answer = await operator.call('GET', `/api/v1/events?type=AGENT_ERROR&limit=200${after}`);
    const page = expectAnswer(answer, 200, Page);
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

/** Keeps the events of each message by its id; `holdNext` has the next message and does not answer it. */
async function startReceiver() {
  const messages = new Map<string, string[]>();
  const events = new Set<string>();
  let hold: ((response: ServerResponse) => void) | null = null;
  const receiver = { messages, events, repeats: 0, url: '', holdNext };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { data } = Value.Parse(Sent, JSON.parse(Buffer.concat(parts).toString()));
      const id = String(request.headers['webhook-id']);
      const ids = data.events.map((event) => event.id);
      if (messages.has(id)) receiver.repeats += 1;
      messages.set(id, ids);
      for (const one of ids) events.add(one);
      if (hold === null) return void response.writeHead(204).end();
      hold(response);
      hold = null;
    });
  });
  function holdNext(): Promise<ServerResponse> {
    return new Promise((resolve) => {
      hold = resolve;
    });
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  receiver.url = `http://127.0.0.1:${port}/hook`;
  return receiver;
}
