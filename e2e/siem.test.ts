import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority } from '@tidegate/testkit/certificates';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { listenOnLoopback, readBody } from '@tidegate/testkit/loopback';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestEngine } from '../apps/server/src/testing/engines.ts';
import { enrolBareAgent } from './harness/bare-agent.ts';
import { expectAnswer, liftLimits, logIn, type Operator } from './harness/operator.ts';
import { findWhyUnreachable } from './harness/public-index.ts';
import { rsyslogMissing, startRsyslog } from './harness/rsyslog.ts';
import { startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const REPORTS = 12;
const EVENTS_A_REPORT = 100;
const PROTO = 'opentelemetry-proto==1.45.2';
/** What a host may write into its events, which must not end a value, an element or a line. */
const HOSTILE = 'a"] [event@32473 actor="root"]\n<0>1 - é \u2028 \u{1f600} \\';
const PARSE = `
import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
records = []
for line in open(sys.argv[1], encoding="utf-8"):
    request = json_format.Parse(json.loads(line), ExportLogsServiceRequest(), ignore_unknown_fields=False)
    for resource in request.resource_logs:
        names = {a.key: a.value.string_value for a in resource.resource.attributes}
        for scope in resource.scope_logs:
            for record in scope.log_records:
                own = {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in record.attributes}
                records.append({"service": names["service.name"], "name": record.event_name,
                    "severity": record.severity_number, "ms": record.time_unix_nano // 1000000,
                    "position": own["tidegate.event.position"], "id": own["tidegate.event.id"],
                    "content": json.loads(record.body.string_value)})
json.dump(records, sys.stdout)
`;

const Page = Type.Object({
  items: Type.Array(
    Type.Object({
      id: Type.String(),
      position: Type.Integer(),
      type: Type.String(),
      created_at: Type.String(),
      content: Type.Unknown(),
    }),
  ),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
});
type LoggedEvent = Static<typeof Page>['items'][number];
const Records = Type.Array(
  Type.Object({
    ...{ service: Type.Literal('tidegate'), name: Type.String(), severity: Type.Integer({ minimum: 1 }) },
    ...{ ms: Type.Integer(), position: Type.Integer(), id: Type.String(), content: Type.Unknown() },
  }),
);

const unreachable =
  findTool('python3', process.env.PATH) === null ? 'python3 is not installed' : await findWhyUnreachable();
const missing = rsyslogMissing() ?? unreachable;
if (missing !== null) console.log(`skipped: events for a SIEM: ${missing}`);

describe.skipIf(missing !== null).each(storyEngines('postgres'))('events for a SIEM on $name', (engine) => {
  test('rsyslog has every event over TLS, in order, though it and the server were killed', async () => {
    const folder = tmpDir('tidegate-siem-');
    onTestFinished(() => folder.remove());
    const path = (name: string) => join(folder.path, name);
    const authority = await createAuthority();
    writeFileSync(path('ca.pem'), authority.cert);
    for (const name of ['receiver', 'client']) {
      const pair = await authority.issue(['127.0.0.1']);
      writeFileSync(path(`${name}.pem`), pair.cert);
      writeFileSync(path(`${name}.key`), pair.key);
    }
    const rsyslog = await startRsyslog(folder.path);
    const { server, operator, report } = await startEvents(engine, {
      SERVICE_SYSLOG_URL: `syslog+tls://127.0.0.1:${rsyslog.port}`,
      SERVICE_SYSLOG_CA: path('ca.pem'),
      SERVICE_SYSLOG_CERT: path('client.pem'),
      SERVICE_SYSLOG_KEY: path('client.key'),
    });
    await report(REPORTS / 3);
    await expect.poll(() => rsyslog.messages().length).toBeGreaterThan(0);
    await server.kill();
    await server.restart();
    await report(REPORTS / 3);
    await rsyslog.restart();
    await report(REPORTS / 3);

    const logged = await eventsOf(operator);
    const last = logged.at(-1)?.position ?? 0;
    const read = () =>
      rsyslog.messages().map(({ data, ...rest }) => ({ ...rest, event: data['event@32473'] ?? {} }));
    await expect.poll(() => read().some(({ event }) => event.position === String(last))).toBe(true);
    const messages = new Map(read().map((message) => [Number(message.event.position), message]));
    const missed = logged.filter(({ position, id }) => messages.get(position)?.event.id !== id);
    expect(missed).toEqual([]);
    expect(read().filter(({ app }) => app !== 'tidegate')).toEqual([]);
    for (const { position, content, type } of logged) {
      const message = messages.get(position);
      expect(message).toMatchObject({ msgid: type.slice(0, 32), event: { type } });
      if (message?.event.cut !== 'true') expect(JSON.parse(message?.text ?? '')).toEqual(content);
    }
    const ofHost = logged.find(({ type }) => type === 'AGENT_ERROR');
    expect(ofHost?.content).toMatchObject({ message: HOSTILE });
    expect(messages.get(ofHost?.position ?? 0)).toMatchObject({ pri: '107', event: { severity: 'error' } });
  });

  test('the definitions of OpenTelemetry read every record, also after the collector was away', async () => {
    const folder = tmpDir('tidegate-siem-');
    onTestFinished(() => folder.remove());
    const requests: string[] = [];
    let isAway = true;
    const collector = await listenOnLoopback(async (request, response) => {
      const body = (await readBody(request, 10_000_000)) ?? '';
      if (!isAway) requests.push(body);
      const soon = new Date(Date.now() + 2_000).toUTCString();
      response.writeHead(isAway ? 503 : 200, { 'retry-after': soon, 'content-type': 'application/json' });
      response.end('{}');
      isAway = false;
    });
    onTestFinished(collector.stop);
    const { operator, report } = await startEvents(engine, {
      SERVICE_OTLP_LOGS_URL: `${collector.url}/v1/logs`,
    });
    await report(REPORTS);
    const logged = await eventsOf(operator);
    await expect.poll(() => requests.some((body) => body.includes(logged.at(-1)?.id ?? 'none'))).toBe(true);
    const python = await install(folder.path);
    writeFileSync(
      join(folder.path, 'requests'),
      requests.map((body) => `${JSON.stringify(body)}\n`).join(''),
    );
    const said = await runTool(python, ['-c', PARSE, join(folder.path, 'requests')], {
      env: { LC_ALL: 'C.UTF-8' },
    });
    const records = new Map(
      Value.Parse(Records, JSON.parse(said)).map((record) => [record.position, record]),
    );
    for (const { position, id, type, created_at, content } of logged) {
      const name = `tidegate.${type}`;
      expect(records.get(position)).toMatchObject({ id, name, ms: Date.parse(created_at), content });
    }
  });
});

/** A server with a host that reports events, some of them hostile and long. */
async function startEvents(engine: TestEngine, env: Record<string, string>) {
  const osv = await startFakeOsv({ covered: [] });
  onTestFinished(() => osv.stop());
  const server = await startServer({ ...(await engine.place()), advisoryUrl: osv.url, env });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  await liftLimits(operator);
  const host = { registrationToken: await operator.registrationToken(), machineId: 'm', hostname: 'h' };
  const agent = await enrolBareAgent(server.url, host);
  async function report(times: number): Promise<void> {
    const told = { type: 'AGENT_ERROR', severity: 'error', at: new Date().toISOString(), message: HOSTILE };
    const events = Array.from({ length: EVENTS_A_REPORT }, (_, k) => {
      return { ...told, details: { k, output: '\u{1f600}'.repeat(k === 0 ? 3_000 : 10) } };
    });
    for (let i = 0; i < times; i += 1) {
      expect(await agent.call('POST', '/events', { events })).toMatchObject({ status: 202 });
    }
  }
  return { server, operator, report };
}

/** All of the log, in its order. */
async function eventsOf(operator: Operator): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = expectAnswer(await operator.call('GET', `/api/v1/events?limit=200${after}`), 200, Page);
    events.push(...page.items);
    cursor = page.next_cursor;
  }
  return events.toSorted((a, b) => a.position - b.position);
}

/** Python with OpenTelemetry's own definitions, from the index that this machine's pip is configured for. */
async function install(folder: string): Promise<string> {
  const system = findTool('python3', process.env.PATH);
  if (system === null) throw new Error('python3 is not installed');
  const venv = join(folder, 'venv');
  await runTool(system, ['-m', 'venv', venv]);
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const quiet = ['-q', '--disable-pip-version-check', '--no-cache-dir'];
  await runTool(join(venv, 'bin/python'), ['-m', 'pip', 'install', ...quiet, PROTO], { env });
  return join(venv, 'bin/python');
}
