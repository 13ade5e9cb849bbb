import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { createAuthority } from '@tidegate/testkit/certificates';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { createFleet } from '@tidegate/testkit/fleet';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Client } from 'pg';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../apps/server/src/testing/engines.ts';
import { type BareAgent, enrolBareAgent } from './harness/bare-agent.ts';
import { expectAnswer, liftLimits, logIn, pause } from './harness/operator.ts';
import { ecosystemsOfThisHost } from './harness/os-release.ts';
import { childrenOf, connectTo, type From, type ProcessConnection } from './harness/process-connection.ts';
import { type ServerProcess, startServer, THIS_VERSION } from './harness/server-process.ts';

const METRICS_TOKEN = 'a token of metrics with at least 32 characters';
const IDLE = {
  agent_version: '0.1.0',
  boot_id: 'boot',
  uptime_seconds: 2,
  received: [],
  key_set_version: 1,
  inventory_digest: {},
};
const KILLS = 3;
/** Enough that both processes take some. */
const RESUMPTIONS = 40;
const HOSTS = 16;
const UPDATES = 2;
/** A quarter of them is for requests on their way from the worker to the server. */
const FEW_FILES = 400;
/** Half of them reach the worker: more than a quarter of the files. */
const SLOW = 240;
/** Of a report that a worker does not read before it forwards it. */
const PACKAGES = Array.from({ length: 500 }, (_, n) => ({
  ...{ name: `package-${n}`, version: '1.0-1', arch: 'amd64' },
}));
/** How long a request may take that waits for nobody, in milliseconds; one that waits for slow bodies takes thirty seconds. */
const PROMPT_MS = 10_000;
/** A worker and its server have told each other what is new. */
const TOLD_MS = 1_100;
/** What a host may meet while a worker is gone; it asks again. Any other answer is a fault. */
const PASSING = ['200', '201', '202', '204', '503', 'error ECONNRESET', 'error ECONNREFUSED'];

describe.each(ENGINES)('a server and its worker on $name', (engine) => {
  test('a revocation and a command of one process count at the other at once, and metrics and readiness tell of both', async () => {
    const { server, worker } = await start(engine);
    const operator = await logIn(server.url);
    const [atServer, atWorker] = [
      await connection(server.url, server.pid),
      await connection(server.url, worker()),
    ];
    const registrationToken = await operator.registrationToken(2);
    const enrol = (name: string) =>
      enrolBareAgent(server.url, { registrationToken, machineId: name.repeat(32), hostname: name });
    const [agent, revoked] = [await enrol('a'), await enrol('b')];

    for (const at of [atServer, atWorker]) expect(await commandsAt(at, agent)).toEqual([]);
    await expect.poll(() => answersAlone(server, () => commandsAt(atWorker, agent))).toBe(true);

    const { token } = operator;
    const path = `/api/v1/agents/${agent.agentId}`;
    const queued = await atWorker.call('POST', `${path}/scan`, { token, body: {} });
    expect(queued.status).toBe(202);
    const delivered = await Promise.all([commandsAt(atServer, agent), commandsAt(atWorker, agent)]);
    const ids = [...new Set(delivered.flat())];
    expect(ids).toHaveLength(1);
    expect(await commandsAt(atServer, agent, ids)).toEqual([]);
    for (const at of [atWorker, atServer]) expect(await commandsAt(at, agent)).toEqual([]);

    for (const at of [atServer, atWorker]) expect(await commandsAt(at, revoked)).toEqual([]);
    const revocation = { token, body: { reason: 'a story' } };
    const told = await atWorker.call('POST', `/api/v1/agents/${revoked.agentId}/revoke`, revocation);
    expect(told.status).toBe(200);
    for (const at of [atServer, atWorker])
      expect(await checkIn(at, revoked)).toMatchObject({
        status: 401,
        body: { code: 'access_token_invalid' },
      });

    expect(await metricOf(server, 'tidegate_workers')).toBe(1);
    const checkIns = await metricOf(server, 'tidegate_check_ins_total');
    for (let n = 0; n < 5; n++) await commandsAt(atWorker, agent);
    await expect.poll(() => metricOf(server, 'tidegate_check_ins_total')).toBe(checkIns + 5);
    expect(await server.command('doctor', '--verify-events')).toContain('The log of events is intact');
  });

  test('a limit of check-ins holds for both processes together', async () => {
    const { server, worker } = await start(engine);
    const operator = await logIn(server.url);
    const budget = { requests: 9, window_seconds: 3_600, enabled: true };
    const limits = { classes: { agent_checkin: budget } };
    const registrationToken = await operator.registrationToken();
    expect((await operator.call('PUT', '/api/v1/admin/rate-limits', limits)).status).toBe(200);
    // Counts of before the change would be in the windows.
    await server.restart();
    const at = [await connection(server.url, server.pid), await connection(server.url, worker())];
    const host = { registrationToken, machineId: 'c'.repeat(32), hostname: 'c' };
    const agent = await enrolBareAgent(server.url, host);
    const statuses: number[] = [];
    for (let n = 0; n < 30; n++) {
      const to = at[n % 2];
      if (to) statuses.push((await checkIn(to, agent)).status);
    }
    // Half of the budget in the minute after a start, and one went to binding the host.
    const accepted = statuses.filter((status) => status === 200).length;
    expect(accepted).toBeLessThanOrEqual(3);
    expect(accepted).toBeGreaterThanOrEqual(2);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  test('a worker killed under load comes back: nothing acknowledged is lost, each update is installed once, the log is whole', {
    timeout: 300_000,
  }, async () => {
    const { server, worker } = await start(engine);
    const operator = await logIn(server.url);
    await liftLimits(operator);
    const fleet = createFleet({
      ...{ serverUrl: server.url, agents: HOSTS, registrationToken: await operator.registrationToken(HOSTS) },
      ...{ clock: { now: Date.now }, inventory: { packages: 20, updates: UPDATES } },
      ...{ concurrency: 8, timeoutMs: 20_000 },
    });
    onTestFinished(() => fleet.stop());
    await fleet.enrolAll();
    await fleet.checkInAll();
    await fleet.reportAll();
    const ids = (await operator.updates({ state: 'pending' })).map(({ id }) => id);
    expect(ids).toHaveLength(HOSTS * UPDATES);

    let isOver = false;
    const load = (async () => {
      for (let round = 0; !isOver; round++) {
        await fleet.checkInAll();
        await fleet.answerAll();
        if (round % 10 === 0) await fleet.renewAll();
      }
    })();
    const acknowledged: string[] = [];
    for (const [index, id] of ids.entries()) {
      if (index % Math.ceil(ids.length / KILLS) === 0) {
        const pid = worker();
        process.kill(pid, 'SIGKILL');
        await expect.poll(() => childrenOf(server.pid).some((child) => child !== pid)).toBe(true);
      }
      const answer = await operator.approve(id).catch(() => null);
      if (answer?.status === 200) acknowledged.push(id);
    }
    const approvedOrMore = async () =>
      (await operator.updates()).filter(({ state }) => state !== 'pending').map(({ id }) => id);
    expect(await approvedOrMore()).toEqual(expect.arrayContaining(acknowledged));
    for (const id of ids.filter((one) => !acknowledged.includes(one))) await operator.approve(id);
    const installed = async () => (await operator.updates({ state: 'installed' })).length;
    await expect.poll(installed, { timeout: 120_000, interval: 500 }).toBe(ids.length);
    isOver = true;
    await load;

    const met = fleet.verdict().operations.flatMap(({ statuses }) => Object.keys(statuses));
    expect(met.filter((status) => !PASSING.includes(status))).toEqual([]);
    expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toEqual([]);
    const events = await operator.events({ type: 'update_installed' });
    const named = events.flatMap(({ content }) => Value.Parse(Installed, content).updates);
    expect(named.map(({ update_id }) => update_id).toSorted()).toEqual(ids.toSorted());
    await expect.poll(async () => (await fetch(`${server.url}/api/ready`)).status).toBe(200);
    expect(server.lines().filter((line) => line.includes('a worker ended'))).toHaveLength(KILLS);
    expect(await metricOf(server, 'tidegate_worker_restarts_total')).toBe(KILLS);
    expect(await server.command('doctor', '--verify-events')).toContain('The log of events is intact');
    const last = worker();
    expect(await server.stop()).toBe(0);
    expect(() => process.kill(last, 0)).toThrow('ESRCH');
  });
});

const postgres = ENGINES.filter(({ name }) => name === 'postgres');

test.each(postgres)(
  'a slow check-in that a worker answers is logged as those of the server are',
  async (engine) => {
    const place = await engine.place();
    const server = await launch(place, { SERVICE_LOG_SLOW_REQUEST_MS: '1000' });
    const [pid = 0] = childrenOf(server.pid);
    const atWorker = await connection(server.url, pid);
    const operator = await logIn(server.url);
    const agent = await enrolBareAgent(server.url, {
      ...{ registrationToken: await operator.registrationToken(), machineId: 'e'.repeat(32), hostname: 'e' },
    });
    await expect.poll(() => answersAlone(server, () => commandsAt(atWorker, agent))).toBe(true);
    const database = new Client({ connectionString: place.databaseUrl ?? '' });
    await database.connect();
    onTestFinished(() => database.end());
    await database.query('BEGIN; LOCK TABLE agents IN ACCESS EXCLUSIVE MODE');
    const answer = commandsAt(atWorker, agent);
    await pause(3_000);
    await database.query('ROLLBACK');
    expect(await answer).toEqual([]);
    const line = await server.line(/slow request .* worker=1/);
    expect(line).toMatch(
      /method=POST route=\/api\/v1\/agents\/:agent_id\/check-in status=200 duration_ms=\d{4} /,
    );
  },
);

const sqlite = ENGINES.filter(({ name }) => name === 'sqlite');

describe.each(sqlite)('a server and its worker on $name', (engine) => {
  test('a copy of credentials at another address is noticed, whichever processes the two reach', async () => {
    const { server, worker } = await start(engine);
    const operator = await logIn(server.url);
    const host = { machineId: 'd'.repeat(32), hostname: 'd' };
    const agent = await enrolBareAgent(server.url, {
      ...{ ...host, registrationToken: await operator.registrationToken() },
    });
    const original = await connection(server.url, server.pid);
    const copy = await connection(server.url, worker(), { localAddress: '127.0.0.2' });
    // Few enough for the limit, beyond which the server judges every check-in.
    for (let round = 0; round < 6; round++) {
      for (const at of [original, copy]) await commandsAt(at, agent);
      await pause(TOLD_MS);
    }
    const events = await operator.events({ type: 'CLONE_SUSPECTED' });
    expect(events).toEqual([expect.objectContaining({ agent_id: agent.agentId })]);
  });

  test('both present the certificate, and the one that replaces it; while they drain neither is ready', async () => {
    const authority = await createAuthority();
    const [first, second] = [
      await authority.issue(['tidegate.example']),
      await authority.issue(['tidegate.example']),
    ];
    const folder = tmpDir('tidegate-workers-');
    onTestFinished(() => folder.remove());
    const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
    const lay = (pair: typeof first) => {
      writeFileSync(cert, pair.cert);
      writeFileSync(key, pair.key);
    };
    lay(first);
    const { server, worker } = await start(engine, {
      ...{ SERVICE_TLS_CERT: cert, SERVICE_TLS_KEY: key, SERVICE_DRAIN_SECONDS: '3' },
    });
    const from = { ca: authority.cert };
    const at = (pid: number) => connection(server.url, pid, from);
    const print = (pem: string) => new X509Certificate(pem).fingerprint256;
    const kept = await at(worker());
    for (const one of [await at(server.pid), kept]) {
      expect(one.certificate).toBe(print(first.cert));
      const { status, headers } = await one.call('GET', '/api/ready');
      expect([status, headers['strict-transport-security']]).toEqual([200, expect.any(String)]);
    }
    lay(second);
    process.kill(server.pid, 'SIGHUP');
    for (const pid of [server.pid, worker()])
      await expect.poll(async () => (await at(pid)).certificate).toBe(print(second.cert));
    // Whichever of the two a connection reaches: the tickets of one are known to the other.
    expect(await resumedOf(RESUMPTIONS, server.url, authority.cert)).toBe(RESUMPTIONS);

    const [health, ready] = [await at(worker()), await at(worker())];
    const stopped = server.stop();
    await server.line(/\[INFO\] stopping/);
    const answer = await ready.call('GET', '/api/ready');
    expect([answer.status, answer.headers.connection]).toEqual([503, 'close']);
    expect((await health.call('GET', '/api/health')).status).toBe(200);
    expect(await stopped).toBe(0);
  });

  test('bodies that come slowly keep no other request from the server', async () => {
    const { server, worker } = await start(engine, {}, ['prlimit', `--nofile=${FEW_FILES}`, ...THIS_VERSION]);
    const atWorker = await connection(server.url, worker());
    const { hostname: host, port } = new URL(server.url);
    for (let n = 0; n < SLOW; n++) {
      const socket = connectPlain({ host, port: Number(port) }).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      const head = 'POST /api/v1/agents/renew HTTP/1.1\r\nhost: story\r\ncontent-type: application/json';
      socket.write(`${head}\r\ncontent-length: 100\r\n\r\n{`);
    }
    await pause(1_000);
    const startedMs = performance.now();
    expect((await atWorker.call('GET', '/api/health')).status).toBe(200);
    expect(performance.now() - startedMs).toBeLessThan(PROMPT_MS);
  });

  test('reports that one host sends slowly keep no report of another from the server', async () => {
    const { server, worker } = await start(engine, {}, ['prlimit', `--nofile=${FEW_FILES}`, ...THIS_VERSION]);
    const atWorker = await connection(server.url, worker());
    const operator = await logIn(server.url);
    await liftLimits(operator);
    const registrationToken = await operator.registrationToken(2);
    const enrol = (name: string) =>
      enrolBareAgent(server.url, { registrationToken, machineId: name.repeat(32), hostname: name });
    const [slow, other] = [await enrol('a'), await enrol('b')];
    const { hostname: host, port } = new URL(server.url);
    for (let n = 0; n < SLOW; n++) {
      const socket = connectPlain({ host, port: Number(port) }).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      const head = [
        ...[`PUT /api/v1/agents/${slow.agentId}/inventory/apt HTTP/1.1`, 'host: story'],
        ...[`authorization: Bearer ${slow.accessToken}`, `x-machine-id: ${slow.machineId}`],
        ...['content-type: application/json', 'content-length: 1000000'],
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n{`);
    }
    await pause(1_000);
    const startedMs = performance.now();
    const { accessToken: token, machineId } = other;
    const path = `/api/v1/agents/${other.agentId}/inventory/apt`;
    const body = { scanned_at: new Date().toISOString(), complete: true, packages: PACKAGES, updates: [] };
    const answer = await atWorker.call('PUT', path, { token, machineId, body });
    expect(answer).toMatchObject({ status: 200 });
    expect(performance.now() - startedMs).toBeLessThan(PROMPT_MS);
  });

  test('workers that keep ending end the server with a clear error', async () => {
    const { server } = await start(engine);
    const killing = setInterval(() => {
      for (const pid of childrenOf(server.pid).filter(isAlive)) process.kill(pid, 'SIGKILL');
    }, 20);
    onTestFinished(() => clearInterval(killing));
    expect(await server.line(/\[ERROR\] the server ends/)).toContain('workers keep ending');
    await server.line(/\[INFO\] stopped/);
    clearInterval(killing);
  });

  test('a worker ends with a server that is killed', async () => {
    const { server, worker } = await start(engine);
    const pid = worker();
    await server.kill();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test('a second server on the port is refused, also if it has workers', async () => {
    const { server } = await start(engine);
    const { dataDir } = await engine.place();
    const { port } = new URL(server.url);
    await expect(launch({ dataDir, databaseUrl: null }, { SERVICE_PORT: port })).rejects.toThrow(
      /SERVICE_PORT is \d+ .*EADDRINUSE/,
    );
  });
});

const Installed = Type.Object({ updates: Type.Array(Type.Object({ update_id: Type.String() })) });

async function start(engine: TestEngine, env: Record<string, string> = {}, program = THIS_VERSION) {
  const server = await launch(await engine.place(), env, program);
  return {
    server,
    worker: (): number => {
      const [pid] = childrenOf(server.pid);
      if (pid === undefined) throw new Error('the server has no worker at the moment');
      return pid;
    },
  };
}

async function launch(
  place: { dataDir: string; databaseUrl: string | null },
  env: Record<string, string>,
  program = THIS_VERSION,
): Promise<ServerProcess> {
  const osv = await startFakeOsv({
    covered: [...ecosystemsOfThisHost(), 'Ubuntu:24.04', 'Ubuntu:24.04:LTS'],
  });
  onTestFinished(() => osv.stop());
  const exported = await startFakeOsvExport(osv);
  onTestFinished(() => exported.stop());
  const server = await startServer({
    ...{ ...place, program, advisoryUrl: osv.url, exportUrl: exported.url },
    env: { SERVICE_WORKERS: '2', SERVICE_METRICS_TOKEN: METRICS_TOKEN.replaceAll(' ', '-'), ...env },
  });
  onTestFinished(async () => void (await server.stop()));
  return server;
}

/** How many of so many connections resume the session of one before them. */
async function resumedOf(count: number, url: string, ca: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const to = { host: hostname, port: Number(port), servername: 'tidegate.example', ca };
  const first = connect(to).resume();
  const [session]: Buffer[] = await once(first, 'session');
  first.destroy();
  let resumed = 0;
  for (let n = 0; n < count; n++) {
    const socket = connect({ ...to, ...(session && { session }) });
    await once(socket, 'secureConnect');
    if (socket.isSessionReused()) resumed++;
    socket.destroy();
  }
  return resumed;
}

async function connection(url: string, pid: number, from?: From): Promise<ProcessConnection> {
  const made = await connectTo(url, pid, from);
  onTestFinished(made.close);
  return made;
}

function checkIn(at: ProcessConnection, agent: BareAgent, received: string[] = []) {
  const { agentId, accessToken: token, machineId } = agent;
  const body = { ...IDLE, received };
  return at.call('POST', `/api/v1/agents/${agentId}/check-in`, { token, machineId, body });
}

/** The ids of the commands that a check-in brings. */
async function commandsAt(
  at: ProcessConnection,
  agent: BareAgent,
  received: string[] = [],
): Promise<string[]> {
  const { commands } = expectAnswer(await checkIn(at, agent, received), 200, CheckInAnswer);
  return commands.map(
    ({ payload }) =>
      Value.Parse(
        Type.Object({ command_id: Type.String() }),
        JSON.parse(Buffer.from(payload, 'base64').toString()),
      ).command_id,
  );
}

async function metricOf({ url }: ServerProcess, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN.replaceAll(' ', '-')}` };
  // A scrape is shared for a second.
  await pause(1_100);
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Whether a worker answers while the server stands still. A slow machine may take longer than the state is fresh. */
async function answersAlone({ pid }: ServerProcess, ask: () => Promise<unknown>): Promise<boolean> {
  process.kill(pid, 'SIGSTOP');
  const answered = ask().then(() => true);
  const isAlone = await Promise.race([answered, pause(2_000).then(() => false)]);
  process.kill(pid, 'SIGCONT');
  await answered;
  return isAlone;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
