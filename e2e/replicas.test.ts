import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { createFleet, type Fleet } from '@tidegate/testkit/fleet';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { type Balancer, startBalancer } from './harness/balancer.ts';
import { liftLimits, logIn, type Operator, pause } from './harness/operator.ts';
import { ecosystemsOfThisHost } from './harness/os-release.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';

const HOSTS = 24;
const UPDATES = 3;
const SECRETS = {
  SERVICE_JWT_SECRET: 'one secret of three servers, for a story',
  SERVICE_SWEEP_INTERVAL_SECONDS: '1',
};
const STORY_MS = 600_000;
/** Longer than every lease and every wait of the database. */
const GONE_MS = 75_000;
/** What a host may meet while a server is ending; it asks again. Any other answer is a fault. */
const PASSING = [
  '200',
  '201',
  '202',
  '204',
  '503',
  'error ECONNRESET',
  'error ECONNREFUSED',
  'error timeout',
];

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('three servers on one $name', (engine) => {
  test('one is killed, one stands still and one loses the database, under load: every update is installed once, and the log is whole', {
    timeout: STORY_MS,
  }, async () => {
    const it = await startThree(await engine.place());
    const { fleet, operator, servers, balancer, database } = it;
    const ids = (await operator.updates({ state: 'pending' })).map(({ id }) => id);
    expect(ids).toHaveLength(HOSTS * UPDATES);

    const load = keepBusy(fleet);
    const approving = approveInTurn(operator, ids);
    const [killed, frozen, cutOff] = servers;
    if (!killed || !frozen || !cutOff) throw new Error('there are three servers');

    await pause(2_000);
    balancer.takeOut(0);
    await killed.kill();

    await pause(2_000);
    process.kill(frozen.pid, 'SIGSTOP');
    balancer.takeOut(1);
    await killed.restart();
    balancer.putBack(0);
    await pause(GONE_MS);
    process.kill(frozen.pid, 'SIGCONT');
    balancer.putBack(1);

    await pause(2_000);
    balancer.takeOut(2);
    database.hold();
    await pause(GONE_MS);
    database.release();
    await expect.poll(() => isReady(cutOff)).toBe(true);
    balancer.putBack(2);

    await approving;
    await expect.poll(() => installed(operator), { timeout: 120_000, interval: 1_000 }).toBe(HOSTS * UPDATES);
    await load.end();

    const commands = await operator.commands({ action: 'install_update' });
    expect(commands.filter(({ status }) => status !== 'success')).toEqual([]);
    // First: a host whose family ends is refused from then on.
    expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toEqual([]);
    const unknown = Object.entries(await statusesOf(fleet)).filter(([status]) => !PASSING.includes(status));
    expect([unknown, unknown.length > 0 ? fleet.verdict().problems : []]).toEqual([[], []]);
    const events = await operator.events({ type: 'update_installed' });
    const named = events.flatMap(({ content }) => Value.Parse(Installed, content).updates);
    expect(named.map(({ update_id }) => update_id).toSorted()).toEqual(ids.toSorted());
    const begun = servers.flatMap((server) =>
      server.lines().filter((line) => line.includes('background work begins on this server')),
    );
    const epochs = begun.map((line) => Number(/epoch=(\d+)/.exec(line)?.[1]));
    expect(epochs.toSorted((a, b) => a - b)).toEqual(begun.map((_, i) => i + 1));
    expect(epochs.length).toBeGreaterThan(1);
    for (const server of servers) {
      const errors = server.lines().filter((line) => line.includes('[ERROR]'));
      expect(errors.filter((line) => !/database|connection/i.test(line))).toEqual([]);
      expect(await server.command('doctor', '--verify-events')).toContain('The log of events is intact');
    }
  });
});

const Installed = Type.Object({ updates: Type.Array(Type.Object({ update_id: Type.String() })) });

/** Three servers with the secrets and keys of the first; the third one reaches the database through a proxy. */
async function startThree({ dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | null }) {
  if (databaseUrl === null) throw new Error('replicas need PostgreSQL');
  const folder = tmpDir('tidegate-replicas-');
  onTestFinished(() => folder.remove());
  const osv = await startFakeOsv({
    covered: [...ecosystemsOfThisHost(), 'Ubuntu:24.04', 'Ubuntu:24.04:LTS'],
  });
  onTestFinished(() => osv.stop());
  const exported = await startFakeOsvExport(osv);
  onTestFinished(() => exported.stop());
  const sources = { advisoryUrl: osv.url, exportUrl: exported.url, env: SECRETS };
  const first = await startServer({ ...sources, dataDir, databaseUrl });
  onTestFinished(async () => void (await first.stop()));
  // Before the others start: they would learn of it ten seconds later.
  await liftLimits(await logIn(first.url));

  const direct = new URL(databaseUrl);
  const socket = `${direct.searchParams.get('host')}/.s.PGSQL.${direct.port || direct.searchParams.get('port') || 5432}`;
  const database = await startBalancer([{ path: socket }]);
  onTestFinished(() => database.stop());
  const proxied = new URL(databaseUrl);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(database.port);
  for (const name of ['host', 'port']) proxied.searchParams.delete(name);

  const servers: ServerProcess[] = [first];
  for (const [index, url] of [databaseUrl, proxied.href].entries()) {
    const own = join(folder.path, `server-${index}`);
    cpSync(dataDir, own, { recursive: true });
    rmSync(join(own, 'server.lock'), { force: true });
    const server = await startServer({ ...sources, dataDir: own, databaseUrl: url });
    onTestFinished(async () => void (await server.stop()));
    servers.push(server);
  }
  const balancer: Balancer = await startBalancer(
    servers.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })),
  );
  onTestFinished(() => balancer.stop());
  const url = `http://127.0.0.1:${balancer.port}`;
  const operator = await logIn(url);
  const fleet = createFleet({
    ...{ serverUrl: url, agents: HOSTS, registrationToken: await operator.registrationToken(HOSTS) },
    ...{ clock: { now: Date.now }, inventory: { packages: 40, updates: UPDATES } },
    ...{ concurrency: 8, timeoutMs: 20_000 },
  });
  onTestFinished(() => fleet.stop());
  await fleet.enrolAll();
  await fleet.checkInAll();
  await fleet.reportAll();
  expect(fleet.verdict().problems).toEqual([]);
  return { fleet, operator, servers, balancer, database };
}

/** Hosts check in and do what they are told, as fast as the answers come. */
function keepBusy(fleet: Fleet): { end(): Promise<void> } {
  let isOver = false;
  const running = (async () => {
    for (let round = 0; !isOver; round++) {
      await fleet.checkInAll();
      await fleet.answerAll();
      if (round % 20 === 0) await fleet.renewAll();
      await pause(100);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await running;
    },
  };
}

async function approveInTurn(operator: Operator, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const answer = await operator.approve(id).catch(() => null);
      if (answer?.status === 200 || (await stateOf(operator, id)) !== 'pending') break;
      await pause(500);
    }
    await pause((2 * GONE_MS) / ids.length);
  }
}

async function stateOf(operator: Operator, id: string): Promise<string> {
  for (;;) {
    const update = await operator.update(id).catch(() => null);
    if (update !== null) return update.state;
    await pause(500);
  }
}

async function installed(operator: Operator): Promise<number> {
  return (await operator.updates({ state: 'installed' })).length;
}

async function isReady({ url }: ServerProcess): Promise<boolean> {
  const answer = await fetch(`${url}/api/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
  return answer?.status === 200;
}

async function statusesOf(fleet: Fleet): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const { statuses } of fleet.verdict().operations)
    for (const [status, count] of Object.entries(statuses)) all[status] = (all[status] ?? 0) + count;
  return all;
}
