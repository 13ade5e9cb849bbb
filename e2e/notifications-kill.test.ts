import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NotificationChannel } from '@tidegate/protocol/notifications-api';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import { type BareAgent, enrolBareAgent } from './harness/bare-agent.ts';
import { expectAnswer, liftLimits, logIn, type Operator, pause } from './harness/operator.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
/** Each host may report 2,000 events a day. */
const HOSTS = isLong ? 5 : 1;
const REPORTS_A_HOST = isLong ? 20 : 5;
const EVENTS_A_REPORT = 100;
const TOTAL = HOSTS * REPORTS_A_HOST * EVENTS_A_REPORT;
const KILLS = isLong ? 4 : 1;
/** The hosts have reported everything, over the kills and restarts. */
const REPORTED_WITHIN_MS = 60_000;
/** What the peak of the resident memory may grow by: for one batch of a rule, not for the events that wait. */
const GROWTH_MAX_MB = 120;
/** The slowest answer to an operator while all of it goes on. */
const ANSWER_MAX_MS = 5_000;
/** Messages of one rule that wait at once, as in `take-events.ts`. */
const WAITING_MAX = 20;
const API = '/api/v1/notifications';

const Page = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), agent_id: Type.String(), content: Type.Unknown() })),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
});
const Sent = Type.Object({
  data: Type.Object({ events: Type.Array(Type.Object({ id: Type.String() })) }),
});

test.each(storyEngines('postgres'))(
  `${TOTAL} events in a minute, a dead channel and kill -9 in the middle: none is lost, nothing waits, on $name`,
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
    const dead = await addChannel(operator, 'http://127.0.0.1:9/nobody');
    await addRule(operator, dead);
    const agents = await Promise.all(Array.from({ length: HOSTS }, (_, n) => enrol(server, operator, n)));

    const restMb = peakMb(server);
    let growthMb = 0;
    const began = performance.now();
    const reported = { events: 0 };
    const reporting = report(agents, reported).then(() => performance.now() - began);
    const asking = askUntil(operator, reporting);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await expect.poll(() => reported.events).toBeGreaterThanOrEqual((TOTAL * kill) / (KILLS + 1));
      // The receiver has the message, and the server dies without its answer.
      const held = await receiver.holdNext();
      growthMb = Math.max(growthMb, peakMb(server) - restMb);
      await server.kill();
      held.destroy();
      await server.restart();
    }
    expect(await reporting).toBeLessThan(REPORTED_WITHIN_MS);
    const { answers, slowestMs } = await asking;
    expect(answers).toBeGreaterThan(0);
    expect(slowestMs).toBeLessThan(ANSWER_MAX_MS);

    // What was accepted is in the log; a report whose answer was lost may be there twice.
    const logged = await eventsInLog(operator);
    expect(new Set(logged.map(({ agent_id, content }) => JSON.stringify([agent_id, content]))).size).toBe(
      TOTAL,
    );
    await expect.poll(() => logged.filter(({ id }) => !receiver.events.has(id)).length).toBe(0);
    expect(receiver.repeats).toBeGreaterThanOrEqual(KILLS);
    // Repeats carry the id and the events of the first attempt: with it every event is there once.
    expect(receiver.changed).toBe(0);
    const once = [...receiver.messages.values()].flat();
    expect([once.length, new Set(once).size]).toEqual([logged.length, logged.length]);
    const waiting = await operator.call('GET', `${API}/deliveries?channel_id=${dead}&limit=200`);
    const ofDead = expectAnswer(waiting, 200, Type.Object({ items: Type.Array(Type.Unknown()) })).items;
    expect(ofDead.length).toBeGreaterThan(0);
    expect(ofDead.length).toBeLessThanOrEqual(WAITING_MAX);
    growthMb = Math.max(growthMb, peakMb(server) - restMb);
    console.log(`memory grew by ${growthMb} MB, slowest of ${answers} answers ${Math.round(slowestMs)} ms`);
    expect(growthMb).toBeLessThan(GROWTH_MAX_MB);
  },
  isLong ? 300_000 : 120_000,
);

async function enrol(server: ServerProcess, operator: Operator, n: number): Promise<BareAgent> {
  const registrationToken = await operator.registrationToken();
  return enrolBareAgent(server.url, { registrationToken, machineId: `machine-${n}`, hostname: `host-${n}` });
}

/** Each host sends its reports one after the other, and again what got no answer. */
async function report(agents: readonly BareAgent[], reported: { events: number }): Promise<void> {
  const at = new Date().toISOString();
  await Promise.all(
    agents.map(async (agent) => {
      for (let i = 0; i < REPORTS_A_HOST; i += 1) {
        const told = { type: 'AGENT_ERROR', severity: 'error', at, message: `failure ${i}` };
        const events = Array.from({ length: EVENTS_A_REPORT }, (_, k) => ({ ...told, details: { k } }));
        for (;;) {
          const answer = await agent.call('POST', '/events', { events }).catch(unreachable);
          if (answer?.status === 202) break;
          expect(answer).toBe(null);
          await pause(50);
        }
        reported.events += EVENTS_A_REPORT;
      }
    }),
  );
}

/** An operator looks at the hosts all the time; while the server is down nobody answers. */
async function askUntil(operator: Operator, end: Promise<unknown>) {
  const asked = { answers: 0, slowestMs: 0 };
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  end.then(over, over);
  while (!isOver) {
    const began = performance.now();
    const answer = await operator.call('GET', '/api/v1/agents?limit=5').catch(unreachable);
    if (answer !== null) {
      expect(answer.status).toBe(200);
      asked.answers += 1;
      asked.slowestMs = Math.max(asked.slowestMs, performance.now() - began);
    }
    await pause(50);
  }
  return asked;
}

/** What `fetch` throws where nobody listens, or the connection was cut. */
function unreachable(error: unknown): null {
  if (error instanceof TypeError) return null;
  throw error;
}

/** The highest resident memory of the process so far. */
function peakMb({ pid }: ServerProcess): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1_024);
}

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

async function eventsInLog(operator: Operator): Promise<Static<typeof Page>['items']> {
  const events: Static<typeof Page>['items'] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const answer = await operator.call('GET', `/api/v1/events?type=AGENT_ERROR&limit=200${after}`);
    const page = expectAnswer(answer, 200, Page);
    events.push(...page.items);
    cursor = page.next_cursor;
  }
  return events;
}

/** Keeps the events of each message by its id; `holdNext` has the next message and does not answer it. */
async function startReceiver() {
  const messages = new Map<string, string[]>();
  const events = new Set<string>();
  let hold: ((response: ServerResponse) => void) | null = null;
  const receiver = { messages, events, repeats: 0, changed: 0, url: '', holdNext };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { data } = Value.Parse(Sent, JSON.parse(Buffer.concat(parts).toString()));
      const id = String(request.headers['webhook-id']);
      const ids = data.events.map((event) => event.id);
      const before = messages.get(id);
      if (before !== undefined) {
        receiver.repeats += 1;
        if (ids.join() !== before.join()) receiver.changed += 1;
      }
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
