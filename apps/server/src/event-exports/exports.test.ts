import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { createAuthority } from '@tidegate/testkit/certificates';
import { untilRefused } from '@tidegate/testkit/free-port';
import { describe, expect, onTestFinished, test } from 'vitest';
import { judgeExports } from '../cli/doctor-exports.ts';
import { defaultConfig } from '../config.ts';
import { appendEvent } from '../events/append-event.ts';
import { nextEvents } from '../events/follow-events.ts';
import { leaseFollower, readFollower } from '../events/followers-store.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createExporter, type Send } from './run-exporter.ts';
import { createOtlpSender } from './send-otlp.ts';
import { createSyslogSender } from './send-syslog.ts';

const SOURCE = { hostname: 'server.example', version: '1.2.3' };
const sourceOf = ({ now }: { now: () => number }) => ({ ...SOURCE, now });

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  async function append(count: number): Promise<void> {
    await database.transact(async (tx) => {
      for (let n = 0; n < count; n++) {
        await appendEvent(tx, platform, {
          kind: 'security',
          type: 'MACHINE_BOUND',
          severity: 'info',
          component: 'agents',
          content: { n },
        });
      }
    });
  }
  /** Runs an exporter until the work is done, as a process that is then stopped. */
  async function exporting(send: Send, work: () => Promise<unknown>): Promise<void> {
    const exporter = createExporter(platform, { name: 'siem', send, lookMs: 5 });
    exporter.start();
    try {
      await work();
    } finally {
      await exporter.stop();
    }
  }
  const position = async () => (await readFollower(database.read, 'siem'))?.position ?? 0;
  return { platform, append, exporting, position };
}

/** A syslog receiver over TLS that reads frames by their octet counts. */
async function startReceiver({ port = 0, wantsClient = false } = {}) {
  const authority = await createAuthority();
  const pair = await authority.issue(['localhost', '127.0.0.1']);
  const messages: string[] = [];
  let breaksAfter = Number.POSITIVE_INFINITY;
  const server = createTlsServer(
    { ...pair, ca: authority.cert, requestCert: wantsClient, rejectUnauthorized: wantsClient },
    (socket) => {
      let rest = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        rest = Buffer.concat([rest, typeof chunk === 'string' ? Buffer.from(chunk) : chunk]);
        for (;;) {
          const space = rest.indexOf(' ');
          const length = Number(rest.subarray(0, Math.max(space, 0)).toString());
          if (space < 0 || rest.length < space + 1 + length) return;
          if (messages.length >= breaksAfter) return void socket.destroy();
          messages.push(rest.subarray(space + 1, space + 1 + length).toString());
          rest = rest.subarray(space + 1 + length);
        }
      });
    },
  );
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const stop = async () => {
    server.close();
  };
  onTestFinished(stop);
  const target = { host: '127.0.0.1', port: address.port, ca: authority.cert, client: null };
  return {
    messages,
    authority,
    target,
    stop,
    breakAfter(count: number) {
      breaksAfter = count;
    },
  };
}

const positionOf = (message: string) => Number(/ position="(\d+)"/.exec(message)?.[1]);

describe.each(ENGINES)('several servers on $name', (engine) => {
  test('send each batch once', async () => {
    const { platform, append, position } = await open(engine);
    const sent: number[] = [];
    const send: Send = async (events) => {
      sent.push(...events.map((event) => event.position));
      return { kind: 'sent' };
    };
    const exporters = [1, 2, 3].map(() => createExporter(platform, { name: 'siem', send, lookMs: 1 }));
    // A server that starts sends again what another is sending at that moment, so they start before the first event.
    for (const exporter of exporters) exporter.start();
    await append(1_500);
    await expect.poll(position).toBe(1_500);
    await Promise.all(exporters.map((exporter) => exporter.stop()));
    expect(sent).toEqual(Array.from({ length: 1_500 }, (_, i) => i + 1));
  });

  test('leave a batch to the one that sends it, for a minute', async () => {
    const { platform, append, position } = await open(engine);
    let looks = 0;
    const { database } = platform;
    const transact: typeof database.transact = (work) => {
      looks += 1;
      return database.transact(work);
    };
    const watched = { ...platform, database: { ...database, transact } };
    const send: Send = async () => ({ kind: 'sent' });
    const exporter = createExporter(watched, { name: 'siem', send, lookMs: 1 });
    onTestFinished(() => exporter.stop());
    await append(3);
    exporter.start();
    await expect.poll(position).toBe(3);
    const lease = { name: 'siem', position: 3, nowMs: platform.now(), leaseMs: 60_000 };
    expect(await database.transact((tx) => leaseFollower(tx, lease))).toBe(true);
    await append(3);
    looks = 0;
    platform.clock.advance(59_999);
    await expect.poll(() => looks).toBeGreaterThan(5);
    expect(await position()).toBe(3);
    platform.clock.advance(1);
    await expect.poll(position).toBe(6);
  });

  test('take a batch whose minute a clock has written that was set back', async () => {
    const { platform, append } = await open(engine);
    await append(1);
    await nextEvents(platform, { name: 'siem', begin: 'oldest', limit: 1 });
    const take = () =>
      platform.database.transact((tx) =>
        leaseFollower(tx, { name: 'siem', position: 0, nowMs: platform.now(), leaseMs: 60_000 }),
      );
    expect([await take(), await take()]).toEqual([true, false]);
    platform.clock.advance(-60_001);
    expect(await take()).toBe(true);
  });

  test('give a batch back that could not be sent', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(1);
    let calls = 0;
    const send: Send = async () => (calls++ === 0 ? { kind: 'failed', reason: 'away' } : { kind: 'sent' });
    await exporting(send, async () => {
      await expect.poll(() => platform.lines.join()).toContain('cannot be exported');
      platform.clock.advance(1_500);
      await expect.poll(position).toBe(1);
    });
  });
});

test.each([
  ['of now', 60_000, 'ok'],
  ['of an hour ago', 3_600_000, 'warn'],
])('doctor names an exporter whose next event is %s', async (_, agoMs, level) => {
  for (const engine of ENGINES) {
    const { platform, append } = await open(engine);
    await append(2);
    platform.clock.advance(agoMs);
    const config = defaultConfig({ syslogUrl: 'syslog+tls://logs.example' });
    const findings = await judgeExports(config, platform.database, platform.now);
    expect(findings).toMatchObject([{ check: 'events to syslog', level }]);
    expect(findings[0]?.detail).toMatch(/^exported up to 0 of 2/);
  }
});

describe.each(ENGINES)('syslog over TLS on $name', (engine) => {
  test('every event arrives once and in order, and the position is kept', async () => {
    const { append, exporting, position } = await open(engine);
    await append(450);
    const receiver = await startReceiver();
    await exporting(createSyslogSender(receiver.target, SOURCE), () => expect.poll(position).toBe(450));
    expect(receiver.messages.map(positionOf)).toEqual(Array.from({ length: 450 }, (_, i) => i + 1));
    await append(1);
    await exporting(createSyslogSender(receiver.target, SOURCE), () => expect.poll(position).toBe(451));
    expect(receiver.messages.map(positionOf).at(-1)).toBe(451);
    expect(receiver.messages).toHaveLength(451);
  });

  test('a receiver that breaks off in the middle of a batch gets it again: nothing is lost', async () => {
    const { platform, append, exporting, position } = await open(engine);
    // More than is read at once: the rest stays unread, which the sender sees.
    await append(200);
    const receiver = await startReceiver();
    receiver.breakAfter(20);
    const send = createSyslogSender(receiver.target, SOURCE);
    await exporting(send, () => expect.poll(() => platform.lines.join()).toContain('cannot be exported'));
    expect(await position()).toBe(0);
    receiver.breakAfter(Number.POSITIVE_INFINITY);
    await exporting(send, () => expect.poll(position).toBe(200));
    expect(new Set(receiver.messages.map(positionOf))).toEqual(
      new Set(Array.from({ length: 200 }, (_, i) => i + 1)),
    );
    expect(receiver.messages.length).toBeGreaterThan(200);
  });

  test('a receiver that is away for a while gets all that happened meanwhile', async () => {
    const { platform, append, exporting, position } = await open(engine);
    const gone = await startReceiver();
    await gone.stop();
    await append(3);
    const { authority, target } = gone;
    await untilRefused({ port: target.port, host: target.host });
    await exporting(createSyslogSender(target, SOURCE), async () => {
      await expect.poll(() => platform.lines.join()).toContain('ECONNREFUSED');
      await append(3);
    });
    const back = await startReceiver();
    expect(authority.cert).not.toBe(back.authority.cert);
    await exporting(createSyslogSender(back.target, SOURCE), () => expect.poll(position).toBe(6));
    expect(back.messages.map(positionOf)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('a receiver with a certificate of somebody else gets nothing', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(1);
    const receiver = await startReceiver();
    const other = await createAuthority();
    const send = createSyslogSender({ ...receiver.target, ca: other.cert }, SOURCE);
    await exporting(send, () => expect.poll(() => platform.lines.join()).toContain('cannot be exported'));
    expect([receiver.messages, await position()]).toEqual([[], 0]);
  });

  test('a receiver that wants a certificate of the client gets it', async () => {
    const { append, exporting, position } = await open(engine);
    await append(1);
    const receiver = await startReceiver({ wantsClient: true });
    const client = await receiver.authority.issue(['server.example']);
    await exporting(createSyslogSender({ ...receiver.target, client }, SOURCE), () =>
      expect.poll(position).toBe(1),
    );
    expect(receiver.messages).toHaveLength(1);
  });
});

type Answer = (
  request: IncomingMessage,
  body: string,
) => { status: number; body?: string; headers?: Record<string, string> };

async function startCollector(answer: Answer) {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status, body = '{}', headers = {} } = answer(request, Buffer.concat(chunks).toString());
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1/logs`,
    ca: null,
    headers: { authorization: 'Bearer x' },
  };
}

function positionsIn(body: string): number[] {
  return [...body.matchAll(/"tidegate\.event\.position","value":\{"intValue":"(\d+)"/g)].map((found) =>
    Number(found[1]),
  );
}

describe.each(ENGINES)('OTLP on $name', (engine) => {
  test('every event arrives in order, with the headers of the settings', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(250);
    const seen: number[] = [];
    const target = await startCollector(({ headers }, body) => {
      expect([headers.authorization, headers['content-type']]).toEqual(['Bearer x', 'application/json']);
      seen.push(...positionsIn(body));
      return { status: 200 };
    });
    await exporting(createOtlpSender(target, sourceOf(platform)), () => expect.poll(position).toBe(250));
    expect(seen).toEqual(Array.from({ length: 250 }, (_, i) => i + 1));
  });

  test.each([429, 502, 503, 504, 401, 301, 'date'])(
    '%s: the same events are sent again after a pause',
    async (given) => {
      const status = typeof given === 'number' ? given : 503;
      const { platform, append, exporting, position } = await open(engine);
      await append(2);
      const at = new Date(platform.now() + 120_000).toUTCString();
      const retryAfter = typeof given === 'number' ? '120' : at;
      let calls = 0;
      const target = await startCollector(() =>
        calls++ === 0 ? { status, headers: { 'retry-after': retryAfter } } : { status: 200 },
      );
      await exporting(createOtlpSender(target, sourceOf(platform)), async () => {
        await expect.poll(() => platform.lines.join()).toContain(`status ${status}`);
        platform.clock.advance(119_000);
        expect([calls, await position()]).toEqual([1, 0]);
        platform.clock.advance(1_000);
        await expect.poll(position).toBe(2);
      });
      expect(platform.lines.filter((line) => line.includes('exported again'))).toHaveLength(1);
    },
  );

  test('an answer that asks for a day is asked again after an hour', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(1);
    let calls = 0;
    const target = await startCollector(() =>
      calls++ === 0 ? { status: 503, headers: { 'retry-after': '86400' } } : { status: 200 },
    );
    await exporting(createOtlpSender(target, sourceOf(platform)), async () => {
      await expect.poll(() => platform.lines.join()).toContain('status 503');
      platform.clock.advance(3_600_000);
      await expect.poll(position).toBe(1);
    });
  });

  test('what a collector has thrown away is logged, and not sent again', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(2);
    let calls = 0;
    const target = await startCollector(() => {
      calls++;
      return { status: 200, body: '{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}' };
    });
    await exporting(createOtlpSender(target, sourceOf(platform)), () => expect.poll(position).toBe(2));
    expect(calls).toBe(1);
    expect(platform.lines.join()).toMatch(/threw events away .*rejected=1 .*too old/);
  });

  test('one event that is refused is passed over and counted; those beside it arrive', async () => {
    const { platform, append, exporting, position } = await open(engine);
    await append(5);
    const seen: number[] = [];
    const target = await startCollector((_, body) => {
      const positions = positionsIn(body);
      if (positions.includes(3)) return { status: 400, body: 'bad record' };
      seen.push(...positions);
      return { status: 200 };
    });
    await exporting(createOtlpSender(target, sourceOf(platform)), () => expect.poll(position).toBe(6));
    expect(seen).toEqual([1, 2, 4, 5, 6]);
    const missed = await platform.database.read
      .selectFrom('events')
      .select('content')
      .where('type', '=', 'events_missed')
      .execute();
    expect(missed.map(({ content }) => JSON.parse(content))).toEqual([
      { follower: 'siem', position: 2, continues_after: 3, missed: 1 },
    ]);
  });
});
