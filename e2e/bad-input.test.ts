import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { InventoryAnswer, type InventoryReport, RegisterAnswer } from '@tidegate/protocol/agent-api';
import { Problem } from '@tidegate/protocol/problems';
import { nullable } from '@tidegate/protocol/scalars';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { Type } from 'typebox';
import { Check, Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestEngine } from '../apps/server/src/testing/engines.ts';
import { type BadAnswer, type BadRequest, createBadClient } from './harness/bad-client.ts';
import { type BareAgent, enrolBareAgent } from './harness/bare-agent.ts';
import { type Endpoint, endpointsOf, sampleOf, textPlacesOf, withText } from './harness/open-api.ts';
import { type Answer, codeOf, expectAnswer, liftLimits, logIn, type Operator } from './harness/operator.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const VECTORS = fileURLToPath(new URL('../../shared/data/vectors/', import.meta.url));
const SUITE = join(VECTORS, 'json-test-suite/test_parsing');
const NAUGHTY = join(VECTORS, 'big-list-of-naughty-strings/blns.json');
const missing = existsSync(SUITE) ? null : 'the vectors of ../shared/data are missing';

/** More texts that JSON allows and that a log or a database may mishandle. */
const MORE_TEXTS = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '\n[INFO] forged',
  '\r',
  '\u001b[2J',
  '\u2028',
  '\ufeff',
];
/** These end the session that all requests share, or reset the limits that would hide them, so they are left out. */
const LAST = /\/(logout(\/provider)?|reset)$/;
const SHOWN = 10;
const isLong = process.env.TIDEGATE_LONG === '1';
/** Outside of the long lane each endpoint gets one body in so many, each of them others. */
const BODY_TURNS = isLong ? 1 : 48;
/** The same with texts, which takes two requests for each. */
const TEXT_TURNS = isLong ? 1 : 40;

describe.skipIf(missing !== null).each(storyEngines('postgres'))(
  `bad input on $name${missing ? ` (${missing})` : ''}`,
  (engine) => {
    test(`${isLong ? 'every body of JSONTestSuite' : 'bodies of JSONTestSuite in turn'} at every endpoint: accepted or refused as a problem`, async () => {
      const scene = await openScene(engine);
      const bodies = readdirSync(SUITE).map((name) => ({
        name,
        bytes: new Uint8Array(readFileSync(join(SUITE, name))),
      }));
      expect(bodies.length).toBeGreaterThan(300);
      const requests = writing(scene.endpoints).flatMap((endpoint, turn) =>
        bodies
          .filter((_, i) => (i + turn) % BODY_TURNS === 0)
          .map(({ name, bytes }) => ({ endpoint, body: bytes, name })),
      );
      const answers = await scene.client.sendAll(requests);
      expect(faultsOf(requests, answers)).toEqual([]);
      const wronglyTaken = requests.filter(
        ({ name, body }, i) => name.startsWith('n_') && body.length > 0 && (answers[i]?.status ?? 0) < 400,
      );
      expect(wronglyTaken.map(({ name, endpoint }) => `${name} at ${endpoint.path}`)).toEqual([]);
      await scene.expectUnharmed();
    });

    const naughtyMs = isLong ? 1_800_000 : 300_000;
    test('every naughty string at every endpoint is stored as it is or refused as a problem', {
      timeout: naughtyMs,
    }, async () => {
      const scene = await openScene(engine);
      const texts = naughtyTexts();
      const respelt = respellingsIn(texts);
      const requests = scene.endpoints.flatMap((endpoint, first) =>
        texts.flatMap((text, i) =>
          (i + first) % TEXT_TURNS !== 0
            ? []
            : naughtyRequests(endpoint, text, {
                turn: isLong ? null : Math.floor(i / TEXT_TURNS),
                isRespelt: respelt.has(text),
              }),
        ),
      );
      const answers = await scene.client.sendAll(requests);
      expect(faultsOf(requests, answers)).toEqual([]);
      await scene.expectUnharmed();
    });

    test('a naughty text that is accepted comes back byte for byte', async () => {
      const scene = await openScene(engine);
      const { operator, agent } = scene;
      const changed: string[] = [];
      const taken: Record<string, number> = {};
      async function check(
        what: string,
        text: string,
        answer: Answer,
        read: () => Promise<unknown>,
      ): Promise<void> {
        if (answer.status >= 400) return;
        taken[what] = (taken[what] ?? 0) + 1;
        if (!holds(await read(), text)) changed.push(`${what}: ${JSON.stringify(text)}`);
      }
      const newest = (type: string) => operator.events({ type, limit: '1' });
      const rebind = `/api/admin/agents/${agent.agentId}/rebind-machine-id`;
      const texts = textsInTurn(16);
      for (const text of texts) {
        const label = await operator.call('POST', '/api/v1/admin/registration-tokens', { label: text });
        await check('label', text, label, async () => label.body);
        const said = { error_type: 'ui_error', message: text };
        const reported = await operator.call('POST', '/logs/client-error', said);
        await check('client error', text, reported, () => newest('client_error'));
        const event = { type: 'AGENT_ERROR', severity: 'error', message: text, at: '2026-01-01T00:00:00Z' };
        const noticed = await agent.call('POST', '/events', { events: [event] });
        await check('agent event', text, noticed, () => newest('AGENT_ERROR'));
        const rebound = await operator.call('POST', rebind, { reason: text });
        await check('rebind reason', text, rebound, () => newest('MACHINE_REBOUND'));
        await agent.call('POST', '/check-in', CHECK_IN);
        const scan = await agent.report(reportOf(text));
        await check('package name', text, scan, () =>
          operator.updates({ agent_id: agent.agentId, state: 'pending' }),
        );
      }
      expect(changed).toEqual([]);
      for (const what of ['label', 'client error', 'agent event', 'rebind reason', 'package name']) {
        expect(taken[what] ?? 0, what).toBeGreaterThan(texts.length / 4);
      }
      await scene.expectUnharmed();
    });

    test('A5: a naughty reason of an override is refused, or comes back byte for byte', {
      timeout: 300_000,
    }, async () => {
      const scene = await openScene(engine);
      const { operator, agent } = scene;
      const texts = textsInTurn(8);
      const answer = expectAnswer(await agent.report(plannedReport(texts.length)), 200, InventoryAnswer);
      const changed: string[] = [];
      let approved = 0;
      for (const [i, text] of texts.entries()) {
        const id = answer.updates[i]?.update_id ?? '';
        const override = { override_supply_chain: true, override_reason: text };
        const outcome = await operator.approve(id, override);
        if (outcome.status === 400) {
          expect(['override_reason_required', 'invalid_request']).toContain(codeOf(outcome));
          continue;
        }
        expect([outcome.status, text]).toEqual([200, text]);
        approved++;
        const [event] = await operator.events({ type: 'supply_chain_override', limit: '1' });
        const recorded = event?.content;
        if (recorded?.update_id !== id || recorded.reason !== text) changed.push(JSON.stringify(text));
      }
      expect(changed).toEqual([]);
      expect(approved).toBeGreaterThan(texts.length * 0.75);
      await scene.expectUnharmed();
    });

    test('a naughty X-Machine-ID header is stored as it is or refused as a problem', async () => {
      const scene = await openScene(engine);
      const faults: string[] = [];
      let taken = 0;
      const texts = textsInTurn(4);
      for (const text of texts) {
        const { status, body } = await registerRaw(scene, text);
        const shown = JSON.stringify(text);
        if (status >= 400 && status < 500) {
          if (!Check(Problem, body)) faults.push(`${shown}: ${status} of another form`);
          continue;
        }
        taken++;
        const { agent_id: id } = expectAnswer({ status, body }, 201, RegisterAnswer);
        const host = await scene.operator.call('GET', `/api/v1/agents/${id}`);
        const { machine_id: kept } = expectAnswer(host, 200, WithMachine);
        // White space around a header value is not part of it (RFC 9110, section 5.5).
        if (kept !== text.replace(/^[ \t]+|[ \t]+$/g, '')) faults.push(`${shown}: kept as ${kept}`);
      }
      expect(faults).toEqual([]);
      expect(taken).toBeGreaterThan(texts.length / 4);
      await scene.expectUnharmed();
    });

    test('a naughty host name, at enrolment, comes back byte for byte', async () => {
      const scene = await openScene(engine);
      const changed: string[] = [];
      for (const [index, hostname] of textsInTurn(8).entries()) {
        const host = { registrationToken: scene.registrationToken, machineId: `naughty-${index}`, hostname };
        const agent = await enrolBareAgent(scene.server.url, host).catch(() => null);
        if (agent === null) continue;
        const shown = await scene.operator.call('GET', `/api/v1/agents/${agent.agentId}`);
        if (!holds(shown.body, hostname)) changed.push(JSON.stringify(hostname));
      }
      expect(changed).toEqual([]);
      await scene.expectUnharmed();
    });
  },
);

type Scene = {
  server: ServerProcess;
  operator: Operator;
  agent: BareAgent;
  registrationToken: string;
  endpoints: Endpoint[];
  client: ReturnType<typeof createBadClient>;
  /** The same process and session, healthy, and no malformed line in its log. */
  expectUnharmed(): Promise<void>;
};

const CHECK_IN = {
  agent_version: '0.1.0',
  boot_id: 'boot',
  uptime_seconds: 1,
  received: [],
  key_set_version: 1,
  inventory_digest: {},
};

async function openScene(engine: TestEngine): Promise<Scene> {
  const place = await engine.place();
  const osv = await startFakeOsv();
  onTestFinished(() => osv.stop());
  const server = await startServer({ ...place, advisoryUrl: osv.url });
  onTestFinished(async () => void (await server.stop()));
  const { pid } = server;
  const operator = await logIn(server.url);
  await liftLimits(operator);
  const registrationToken = await operator.registrationToken(10_000);
  const machineId = 'bare-machine';
  const agent = await enrolBareAgent(server.url, { registrationToken, machineId, hostname: 'bare' });
  const document: unknown = await (await fetch(`${server.url}/api/openapi.json`)).json();
  const all = endpointsOf(document);
  expect(all.length).toBeGreaterThan(30);
  const client = createBadClient(server.url, {
    operator: operator.token,
    agent: agent.accessToken,
    registration: registrationToken,
    machineId,
    agentId: agent.agentId,
    fleetLock: (await server.command('reboots', 'fleet-lock', 'add', '--group', 'sample-text')).trim(),
  });
  return {
    server,
    operator,
    agent,
    registrationToken,
    client,
    endpoints: all.filter(({ path }) => !LAST.test(path)),
    expectUnharmed: async () => {
      expect((await operator.call('GET', '/api/health')).body).toMatchObject({ status: 'ok' });
      expect((await operator.call('GET', '/api/v1/agents')).status).toBe(200);
      expect(server.pid).toBe(pid);
      const odd = server
        .lines()
        .filter((line) => !/^\[[A-Z]+\] [^\p{Cc}\u2028\u2029]* time=\S+Z$/u.test(line));
      expect(odd).toEqual([]);
    },
  };
}

function writing(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.filter(({ method }) => method !== 'GET');
}

/**
 * One request with the text in every unrestricted string, and one with it in one more place: a restricted member, an
 * unknown member or a parameter. `turn` chooses that place in rotation; null means every place.
 */
function naughtyRequests(
  endpoint: Endpoint,
  text: string,
  { turn, isRespelt }: { turn: number | null; isRespelt: boolean },
): BadRequest[] {
  const sample = endpoint.body === null ? null : sampleFor(endpoint);
  const body = sample === null ? null : JSON.stringify(sample);
  const places = (endpoint.body === null ? [] : textPlacesOf(endpoint.body)).filter(
    ({ place }) => place[0] !== 'username' || !isRespelt,
  );
  const free = places.filter(({ isFree }) => isFree);
  const everywhere = free.reduce((value, { place }) => withText(value, place, text), sample);
  const unknown = { ...(typeof sample === 'object' ? sample : {}), [text]: text };
  const others: BadRequest[] = [
    ...places.map(({ place }) => ({ endpoint, body: JSON.stringify(withText(sample, place, text)) })),
    ...(body === null ? [] : [{ endpoint, body: JSON.stringify(unknown) }]),
    ...endpoint.parameters
      .filter(({ in: place }) => place === 'path' || place === 'query')
      // These would make another path.
      .filter(({ in: place }) => place === 'query' || !['', '.', '..'].includes(text))
      .filter(() => text.isWellFormed())
      .map(({ name }) => ({ endpoint, body, parameters: { [name]: text } })),
  ];
  const one = turn === null ? others : others.slice(turn % Math.max(1, others.length)).slice(0, 1);
  return free.length === 0 ? one : [{ endpoint, body: JSON.stringify(everywhere) }, ...one];
}

let namesGiven = 0;

/** Guesses at one name are slowed down, which would hide other faults, so each login uses another name. */
function sampleFor({ path, body }: Endpoint): unknown {
  const sample = sampleOf(body);
  return path.endsWith('/auth/login') ? withText(sample, ['username'], `sample-${namesGiven++}`) : sample;
}

/** Texts that spell an earlier name differently: guesses at a name count together in every spelling. */
function respellingsIn(texts: readonly string[]): Set<string> {
  const names = new Set<string>();
  return new Set(texts.filter((text) => names.size === names.add(text.toLowerCase()).size));
}

function naughtyTexts(): string[] {
  const list: unknown = JSON.parse(readFileSync(NAUGHTY, 'utf8'));
  return [...new Set([...Value.Parse(Type.Array(Type.String()), list), ...MORE_TEXTS])];
}

/** All texts in the long lane; otherwise one in so many, and those that are known to be hard. */
function textsInTurn(turns: number): string[] {
  return naughtyTexts().filter((text, i) => isLong || i % turns === 0 || MORE_TEXTS.includes(text));
}

/** Updates of apt with plans that only an override can approve: without a source package they are undecidable. */
function plannedReport(count: number): InventoryReport {
  const names = Array.from({ length: count }, (_, i) => `package-${i}`);
  const artifact = { url: 'https://mirror.example/a.deb', size_bytes: 1, sha256: 'a'.repeat(64) };
  return {
    scanned_at: '2026-01-01T00:00:00Z',
    complete: true,
    packages: names.map((name) => ({ name, version: '1.0' })),
    updates: names.map((name) => ({
      ...{ name, current_version: '1.0', available_version: '1.1' },
      plan: {
        resolved_at: '2026-01-01T00:00:00Z',
        actions: [
          {
            ...{ action: 'upgrade', name, from_version: '1.0', to_version: '1.1' },
            artifact: { filename: `${name}.deb`, ...artifact },
          },
        ],
      },
    })),
  };
}

const WithMachine = Type.Object({ machine_id: nullable(Type.String()) });

/** Registers with a header that no client would send: the raw bytes of the text. */
async function registerRaw(
  { server, registrationToken }: Scene,
  machineId: string,
): Promise<{ status: number; body: unknown }> {
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
  const body = JSON.stringify({ hostname: 'naughty', os, agent_version: '0.1.0' });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // a refusal may close the connection while the test still writes
  socket.write(
    [
      'POST /api/v1/agents/register HTTP/1.1',
      `Host: ${hostname}`,
      'Connection: close',
      `Authorization: Bearer ${registrationToken}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Machine-ID: ${machineId}`,
      '',
      body,
    ].join('\r\n'),
  );
  const answer = (await buffer(socket)).toString('utf8');
  const [head = '', text = ''] = answer.split('\r\n\r\n');
  const parsed: unknown = JSON.parse(text);
  return { status: Number(head.split(' ')[1]), body: parsed };
}

function reportOf(name: string) {
  const update = { name, current_version: '1.0', available_version: '1.1' };
  return {
    scanned_at: '2026-01-01T00:00:00Z',
    complete: true,
    packages: [{ name, version: '1.0' }],
    updates: [update],
  };
}

/** Whether a value contains exactly this text. */
function holds(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((member: unknown) => holds(member, text));
}

function faultsOf(requests: readonly BadRequest[], answers: readonly BadAnswer[]): string[] {
  const faults = requests.flatMap(({ endpoint, body, parameters }, i) => {
    const fault = answers[i]?.fault;
    if (!fault) return [];
    const sent = (parameters ? JSON.stringify(parameters) : String(body)).slice(0, 100);
    return [`${endpoint.method} ${endpoint.path} with ${sent}: ${fault}`];
  });
  return faults.length > SHOWN ? [...faults.slice(0, SHOWN), `… and ${faults.length - SHOWN} more`] : faults;
}
