import { randomBytes } from 'node:crypto';
import { HostRestarts, type RestartReport } from '@tidegate/protocol/restarts';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAddresses } from '../check-in/addresses.ts';
import { createLastSeen } from '../check-in/last-seen.ts';
import { mountCheckIn } from '../check-in/routes.ts';
import { mountAgentCommands } from '../commands/agent-routes.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { mountHostCommands } from '../commands/host-commands.ts';
import { queueCommand } from '../commands/queue-command.ts';
import { mountCommands } from '../commands/routes.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp, createTestKeyRing } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { mountAgents } from './routes.ts';

const REPORT: RestartReport = {
  observed_at: '2026-11-21T08:59:00Z',
  boot_id: 'boot-1',
  services: {
    need: 'needed',
    stale: [
      {
        ...{ name: 'nginx.service', kind: 'service', processes: 3, more_files: 0 },
        files: [{ path: '/usr/lib/libssl.so.3', package: 'libssl3' }],
      },
    ],
    more_services: 0,
  },
  reboot: {
    need: 'unknown',
    reason: 'no installed package provides a bootable kernel',
    evidence: [],
    running_kernel: { release: '6.1.0-28-amd64' },
    packages: [],
    livepatch: 'inactive',
  },
};

describe.each(ENGINES)('what runs old code, on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = { ...createTestPlatform(database), random: randomBytes };
    const app = createSliceApp(platform);
    const keyRing = createTestKeyRing();
    const config = { minAgentVersion: null };
    const lastSeen = createLastSeen({ ...platform, gatherMs: 600_000 });
    mountCheckIn(app.routes, {
      platform,
      config,
      keyRing,
      lastSeen,
      addresses: createAddresses({ ...platform, lastMaxBytes: 1_048_576 }),
    });
    mountAgents(app.routes, {
      platform,
      heldOf: async () => new Map(),
      upToDate: () => hostsUpToDate(platform),
    });
    mountCommands(app.routes, { platform, identify: async () => null });
    mountAgentCommands(app.routes, { platform, config });
    onTestFinished(() => app.close());
    const [one, two] = [await insertTestAgent(database, { n: 1 }), await insertTestAgent(database, { n: 2 })];
    async function send(method: 'PUT' | 'POST', path: string, payload: object) {
      return app.inject({
        method,
        url: `/api/v1/agents/${one.agentId}/${path}`,
        headers: { 'x-machine-id': 'machine-1', 'x-test-agent': one.agentId, 'x-test-family': one.familyId },
        payload,
      });
    }
    const get = async (path: string) => (await app.inject({ url: `/api/v1/${path}` })).json();
    const evidence = async () => Value.Parse(HostRestarts, await get(`agents/${one.agentId}/restarts`));
    const found = async (query: string) =>
      (await get(`agents?${query}`)).items
        .map(({ id }: { id: string }) => (id === one.agentId ? 1 : 2))
        .sort();
    const checkIn = (boot_id: string) =>
      send('POST', 'check-in', {
        ...{ agent_version: '1.0.0', boot_id, uptime_seconds: 60, received: [], key_set_version: 1 },
        inventory_digest: {},
      });
    return { app, database, platform, keyRing, one, two, send, get, evidence, found, checkIn };
  }

  test('is unknown until the host reports it, then shown with its evidence and found by it', async () => {
    const { send, get, evidence, found, one } = await setUp();
    expect(await evidence()).toEqual({ report: null, received_at: null });
    for (const filter of ['reboot', 'services_restart']) {
      expect(await found(`${filter}=unknown`)).toEqual([1, 2]);
      for (const need of ['needed', 'not_needed']) expect(await found(`${filter}=${need}`)).toEqual([]);
    }
    const answer = await send('PUT', 'restarts', REPORT);
    expect([answer.statusCode, answer.json()]).toEqual([200, { accepted: true }]);
    expect((await evidence()).report).toEqual(REPORT);
    expect((await get(`agents/${one.agentId}`)).restarts).toEqual({ services: 'needed', reboot: 'unknown' });
    expect(await found('services_restart=needed')).toEqual([1]);
    expect(await found('services_restart=unknown')).toEqual([2]);
    expect(await found('reboot=unknown')).toEqual([1, 2]);
    const reboot = { ...REPORT.reboot, need: 'not_needed', reason: undefined };
    await send('PUT', 'restarts', { ...REPORT, reboot });
    expect(await found('reboot=not_needed')).toEqual([1]);
    expect(await found('reboot=not_needed&services_restart=unknown')).toEqual([]);
  });

  test('is unknown again from the first check-in of another boot', async () => {
    const { send, evidence, found, checkIn } = await setUp();
    await checkIn('boot-1');
    await send('PUT', 'restarts', REPORT);
    await checkIn('boot-1');
    expect(await found('services_restart=needed')).toEqual([1]);
    await checkIn('boot-2');
    expect(await evidence()).toEqual({ report: null, received_at: null });
    expect(await found('services_restart=needed')).toEqual([]);
    expect(await found('services_restart=unknown')).toEqual([1, 2]);
  });

  test.each<[string, unknown]>([
    ['a verdict that does not exist', { ...REPORT, reboot: { ...REPORT.reboot, need: 'clear' } }],
    ['a name with a line feed', named('nginx.service\n')],
    ['a name that turns the reading direction', named('\u202enginx.service')],
    [
      '65 services',
      { ...REPORT, services: { ...REPORT.services, stale: Array(65).fill(REPORT.services.stale[0]) } },
    ],
    [
      'a service without a file',
      { ...REPORT, services: { ...REPORT.services, stale: [{ ...REPORT.services.stale[0], files: [] }] } },
    ],
    ['an unknown member', { ...REPORT, restart: true }],
  ])('%s is refused', async (_, report) => {
    const { send, evidence } = await setUp();
    expect((await send('PUT', 'restarts', Object(report))).statusCode).toBe(400);
    expect((await evidence()).report).toBeNull();
  });

  test('is restarted by a command: what the host reports, and nothing else', async () => {
    const { app, platform, database, one, send } = await setUp();
    mountHostCommands(app.routes, { platform });
    const ask = async (body?: object) => {
      const url = `/api/v1/agents/${one.agentId}/restart-services`;
      const answer = await app.inject({ method: 'POST', url, ...(body && { payload: body }) });
      return [answer.statusCode, answer.json().detail ?? ''];
    };
    expect(await ask()).toEqual([409, expect.stringContaining('reports no service')]);
    const [nginx] = REPORT.services.stale;
    const stale = [
      ...(nginx ? [nginx, { ...nginx, name: 'dbus.service', kind: 'core' as const }] : []),
      ...(nginx
        ? [
            { ...nginx, name: '-x.service' },
            { ...nginx, name: 'app', kind: 'other' as const },
          ]
        : []),
    ];
    await send('PUT', 'restarts', { ...REPORT, services: { ...REPORT.services, stale } });
    for (const unit of ['dbus.service', 'ssh.service']) {
      expect(await ask({ units: [unit] })).toEqual([409, expect.stringContaining(unit)]);
    }
    expect((await ask({ units: [] }))[0]).toBe(400);
    expect((await ask())[0]).toBe(202);
    expect((await ask({ units: ['nginx.service'] }))[0]).toBe(202);
    const rows = await database.read.selectFrom('agent_commands').selectAll().execute();
    expect(rows.map(({ action, params }) => [action, JSON.parse(params)])).toEqual([
      ['restart_services', { units: ['nginx.service'] }],
      ['restart_services', { units: ['nginx.service'] }],
    ]);
  });

  test('is ended by a reboot, of the boot that the host is in, with the words and the warning of who asks', async () => {
    const { app, platform, database, one, checkIn } = await setUp();
    mountHostCommands(app.routes, { platform });
    const ask = (payload?: object) =>
      app.inject({
        ...{ method: 'POST', url: `/api/v1/agents/${one.agentId}/reboot` },
        ...(payload && { payload }),
      });
    await checkIn('boot-1');
    expect((await ask()).statusCode).toBe(202);
    expect((await ask({ cause: 'new kernel', warn_minutes: 15 })).statusCode).toBe(202);
    expect((await ask({ warn_minutes: 61 })).statusCode).toBe(400);
    const rows = await database.read.selectFrom('agent_commands').selectAll().orderBy('id').execute();
    expect(rows.map(({ params }) => JSON.parse(params))).toEqual([
      { boot_id: 'boot-1', warn_minutes: 5, cause: 'ordered by an operator' },
      { boot_id: 'boot-1', warn_minutes: 15, cause: 'new kernel' },
    ]);
  });

  test('belongs to the result of an installation', async () => {
    const { database, platform, keyRing, one, send, get } = await setUp();
    const { agentId } = one;
    const id = await database.transact((tx) =>
      queueCommand(tx, platform, { agentId, action: 'scan', params: {}, createdBy: 'ada' }),
    );
    await database.transact((tx) =>
      deliverCommands(tx, platform, keyRing, { agentId, machineId: 'machine-1', received: [] }),
    );
    expect((await get(`commands/${id}`)).restarts).toBeNull();
    const result = { status: 'success', finished_at: '2026-11-21T09:00:00Z', restarts: REPORT };
    expect((await send('POST', `commands/${id}/result`, result)).statusCode).toBe(200);
    expect((await get(`commands/${id}`)).restarts).toEqual(REPORT);
  });
});

function named(name: string): unknown {
  const [service] = REPORT.services.stale;
  return { ...REPORT, services: { ...REPORT.services, stale: [{ ...service, name }] } };
}
