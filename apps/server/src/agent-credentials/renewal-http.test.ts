import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { SEED } from '@tidegate/testkit/seed';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open.ts';
import { systemRandom } from '../platform/ids.ts';
import { loadSecrets } from '../platform/secrets.ts';
import { createAgentsApp, enrol } from '../testing/agents-app.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';
import { enrolFleet, type RenewingAgent, renewOnce } from '../testing/renewing-fleet.ts';
import { type ServerProcess, startServerProcess } from '../testing/server-process.ts';
import { createTestPlatform } from '../testing/test-platform.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const KILLS = LONG ? 100 : 5;
const AGENTS = LONG ? 1_000 : 200;
const SOCKETS = 64;
/** How long a server lives before it is killed: some agents are renewed several times, others not at all. */
const LIFE_MS = 600;
const JWT_SECRET = 'a secret of a test that guards nothing at all';

describe.each(ENGINES)('renewals over real sockets on $name', (engine) => {
  async function atOnce(requestIdOf: (i: number) => string) {
    const it = createAgentsApp(await engine.open());
    const { refresh_token: token, machineId, agent_id: agentId } = await enrol(it);
    const url = await it.app.listen({ port: 0, host: '127.0.0.1' });
    const sockets = new Agent({ keepAlive: true, maxSockets: 200 });
    onTestFinished(async () => {
      sockets.destroy();
      await it.app.close();
    });
    const copies = Array.from(
      { length: 200 },
      (_, i): RenewingAgent => ({
        ...{ agentId, machineId, token, requestId: requestIdOf(i) },
        ...{ unknown: 0, renewals: 0, isRefused: false },
      }),
    );
    const statuses = await Promise.all(copies.map((copy) => renewOnce(copy, url, sockets)));
    const { read } = it.platform.database;
    const events = await read.selectFrom('events').select(['type', 'severity']).execute();
    const family = await read.selectFrom('refresh_families').selectAll().executeTakeFirstOrThrow();
    return {
      count: (status: number) => statuses.filter((one) => one === status).length,
      children: new Set(copies.filter(({ renewals }) => renewals === 1).map((copy) => copy.token)),
      critical: events.filter(({ severity }) => severity === 'critical').map(({ type }) => type),
      family,
    };
  }

  test('RT14, invariant 10: 200 of one token with distinct ids: two 200 with two children, one critical event', async () => {
    const { count, children, critical, family } = await atOnce(() => randomUUID());
    expect([count(200), count(401)]).toEqual([2, 198]);
    expect(children.size).toBe(2);
    expect(critical).toEqual(['REFRESH_TOKEN_REUSE']);
    expect([family.status, family.revoked_reason, family.cur_seq]).toEqual(['revoked', 'grace_exhausted', 2]);
  });

  test('RT14, I7: 200 of one token with one id: two 200 with the same child, one critical event', async () => {
    const requestId = randomUUID();
    const { count, children, critical, family } = await atOnce(() => requestId);
    expect([count(200), count(401)]).toEqual([2, 198]);
    expect(children.size).toBe(1);
    expect(critical).toEqual(['REFRESH_TOKEN_REUSE']);
    expect([family.status, family.revoked_reason]).toEqual(['revoked', 'grace_exhausted']);
  });

  test(
    `RT4, invariant 13: ${AGENTS} agents renew while the server is killed ${KILLS} times; none loses its family except by row 10`,
    async () => {
      process.stderr.write(`kills under renewals on ${engine.name}: ${KILLS} of TIDEGATE_SEED=${SEED}\n`);
      const place = await engine.place();
      const agents = await prepare(place);
      const sockets = new Agent({ keepAlive: true, maxSockets: SOCKETS });
      onTestFinished(() => sockets.destroy());
      const random = seeded(SEED);
      const statuses = new Map<number, number>();
      const answered = () => statuses.get(200) ?? 0;
      // On a busy machine a server may be killed before it renews anything: then more of them are started.
      for (let kill = 1; kill <= KILLS || answered() <= KILLS; kill++) {
        const server = await startServerProcess(settingsOf(place));
        const life = { isOver: false };
        const renewing = renewAll(agents, { server, life, sockets, statuses });
        await pause(random() * LIFE_MS);
        await server.kill();
        life.isOver = true;
        await renewing;
      }
      const refused = agents.filter(({ isRefused }) => isRefused);
      // Two replies lost in one generation end a family under any policy ("exactly once more"); nothing else may.
      expect(refused.filter(({ unknown }) => unknown < 2)).toEqual([]);
      expect([...statuses.keys()].filter((status) => status !== 200 && status !== 401)).toEqual([]);
      expect(answered()).toBeGreaterThan(KILLS);
      const last = await startServerProcess(settingsOf(place));
      try {
        // Every answered renewal is stored: the token that the agent holds works.
        const renewed = await Promise.all(
          agents.filter(({ isRefused }) => !isRefused).map((one) => renewOnce(one, last.url, sockets)),
        );
        const lost = agents.filter(({ isRefused, unknown }) => isRefused && unknown < 2);
        expect([lost, renewed.filter((status) => status !== 200 && status !== 401)]).toEqual([[], []]);
      } finally {
        await last.kill();
      }
      await expectFamilies(place, agents);
    },
    300_000 + KILLS * 10_000,
  );
});

type Place = Awaited<ReturnType<(typeof ENGINES)[number]['place']>>;

function settingsOf({ dataDir, databaseUrl }: Place): Record<string, string> {
  return {
    SERVICE_DATA_DIR: dataDir,
    SERVICE_PORT: '0',
    SERVICE_JWT_SECRET: JWT_SECRET,
    SERVICE_LOG_LEVEL: 'info',
    ...(databaseUrl === null ? {} : { SERVICE_DATABASE_URL: databaseUrl }),
  };
}

async function prepare(place: Place): Promise<RenewingAgent[]> {
  const database = openDatabase(place, databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    const platform = { ...createTestPlatform(database), now: Date.now, random: systemRandom };
    const { dataDir } = place;
    const { refreshTags } = loadSecrets({ ...platform, configured: JWT_SECRET, dataDir });
    return await enrolFleet(platform, { count: AGENTS, tagKey: refreshTags });
  } finally {
    await database.close();
  }
}

interface Life {
  server: ServerProcess;
  life: { isOver: boolean };
  sockets: Agent;
  statuses: Map<number, number>;
}

/** Renews all agents in turn, as many at a time as there are sockets, until the server is gone. */
async function renewAll(agents: readonly RenewingAgent[], { server, life, sockets, statuses }: Life) {
  const waiting = agents.filter(({ isRefused }) => !isRefused);
  async function work(): Promise<void> {
    while (!life.isOver) {
      const agent = waiting.shift();
      if (!agent) return;
      const status = await renewOnce(agent, server.url, sockets);
      if (status === null) return; // the server is gone
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (!agent.isRefused) waiting.push(agent);
    }
  }
  await Promise.all(Array.from({ length: SOCKETS }, work));
}

/** The database agrees: as many revoked as were refused, each by row 10 and with one critical event. */
async function expectFamilies(place: Place, agents: readonly RenewingAgent[]): Promise<void> {
  const database = openDatabase(place, databaseOptions());
  try {
    const refused = agents.filter(({ isRefused }) => isRefused).map(({ agentId }) => agentId);
    const families = await database.read.selectFrom('refresh_families').selectAll().execute();
    const revoked = families.filter(({ status }) => status === 'revoked');
    expect(revoked.map((one) => one.agent_id).sort()).toEqual(refused.sort());
    expect(revoked.filter((one) => one.revoked_reason !== 'grace_exhausted')).toEqual([]);
    const critical = database.read.selectFrom('events').selectAll().where('severity', '=', 'critical');
    expect(await critical.execute()).toHaveLength(refused.length);
    expect(families).toHaveLength(AGENTS);
  } finally {
    await database.close();
  }
}

/** Mulberry32: small, and the same everywhere. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
