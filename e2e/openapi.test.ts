import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { createFleet, type Fleet } from '@tidegate/testkit/fleet';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import { startChild } from './harness/child.ts';
import { liftLimits, logIn, type Operator } from './harness/operator.ts';
import { ecosystemsOfThisHost } from './harness/os-release.ts';
import { findWhyUnreachable } from './harness/public-index.ts';
import { startServer } from './harness/server-process.ts';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const SEED = process.env.TIDEGATE_SEED ?? '16';
const CASES_MIN = 10_000;
/** Cases of each operation beside those that cover its bounds. */
const CASES_OF_OPERATION = '10';
const TEST_MS = 25 * 60_000;
const RUN_MS = 12 * 60_000;
const HOSTS = 12;

/** Operations that would end the run, or do not end themselves; the server's own tests answer for them. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'GET /metrics': 'has a token of its own',
  'GET /api/v1/stream': 'is open until its client leaves',
  'GET /api/v1/commands/{id}/output': 'is open until the command ends',
  'POST /api/v1/auth/logout': 'ends the session of the run',
  'POST /api/v1/auth/logout/provider': 'ends the session of the run',
  'PUT /api/v1/admin/rate-limits': 'sets limits that refuse the run',
  'POST /api/v1/admin/rate-limits/reset': 'brings back limits that refuse the run',
};
/** Operations by which an operator may end the session of the run: they come last, in a session of their own. */
const ENDING: readonly string[] = [
  'DELETE /api/v1/auth/sessions/{id}',
  'DELETE /api/v1/admin/operators/{id}',
  'DELETE /api/v1/admin/operators/{id}/factors',
  'DELETE /api/v1/admin/operators/{id}/sessions',
  'DELETE /api/v1/admin/sessions',
  'PATCH /api/v1/admin/operators/{id}',
];
const ALL_SCOPES = ['read', 'hosts', 'approve', 'override', 'admin'];

const Operation = Type.Object({
  description: Type.String(),
  security: Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))),
});
const Document = Type.Object({
  paths: Type.Record(Type.String(), Type.Record(Type.String(), Operation)),
});
type Operation = { name: string; description: string; schemes: string[] };
type Run = {
  who: string;
  operations: readonly string[];
  headers: Record<string, string>;
  /** What its credential still opens when the run is over; null: it may have ended. */
  probe: string | null;
};

// schemathesis comes from the public index, which is outside the project.
const missing =
  findTool('python3', process.env.PATH) === null ? 'python3 is not installed' : await findWhyUnreachable();
if (missing !== null) console.log(`skipped: ten thousand cases of schemathesis: ${missing}`);

test.skipIf(missing !== null)(
  'ten thousand cases of schemathesis find no answer that the document does not state',
  async () => {
    const folder = tmpDir('tidegate-openapi-');
    onTestFinished(() => folder.remove());
    const { server, operator, fleet, fleetLock } = await openFleet(join(folder.path, 'data'));
    const program = await install(folder.path);
    const operations = await operationsOf(server.url);
    const byToken = operations.filter(({ schemes }) => !schemes.includes('agentAccessToken'));
    const bySession = byToken.filter(({ description }) => description.includes('No API token.'));
    const byFleetLock = operations.filter(({ schemes }) => schemes.includes('fleetLockToken'));
    const byAgent = operations.filter(({ schemes }) => schemes.includes('agentAccessToken'));
    const agentId = fleet.agents[0]?.session?.agentId ?? '';
    const runs: Run[] = [
      {
        ...{ who: 'an agent', operations: byAgent.map(nameOf), headers: headersOf(fleet) },
        probe: `/api/v1/agents/${agentId}/state`,
      },
      // Early: the proof of the password is fresh for five minutes.
      {
        ...{ who: 'a session', operations: bySession.map(nameOf).filter((name) => !ENDING.includes(name)) },
        ...{ headers: bearer(operator.token), probe: '/api/v1/auth/session' },
      },
      {
        ...{ who: 'an API token', operations: byToken.map(nameOf).filter((name) => !ENDING.includes(name)) },
        ...{ headers: bearer(await apiToken(operator)), probe: '/api/v1/agents' },
      },
      {
        ...{ who: 'FleetLock', operations: byFleetLock.map(nameOf), headers: { Authorization: fleetLock } },
        probe: null,
      },
      {
        ...{ who: 'a session that may end', operations: ENDING, probe: null },
        headers: bearer((await logIn(server.url)).token),
      },
    ];

    let cases = 0;
    for (const run of runs) {
      const config = join(folder.path, 'schemathesis.toml');
      await writeFile(config, configOf({ url: server.url, agentId, run }));
      const startMs = performance.now();
      const { code, lines } = await runSchemathesis(program, {
        config,
        url: server.url,
        folder: folder.path,
        run,
      });
      const made = Number(/([\d,]+) generated/.exec(lines.join('\n'))?.[1]?.replaceAll(',', '') ?? '0');
      const seconds = Math.round((performance.now() - startMs) / 1_000);
      console.log(
        `${run.who}: ${made} cases of ${run.operations.length} operations in ${seconds} s, seed ${SEED}`,
      );
      if (code !== 0) throw new Error(`as ${run.who}, seed ${SEED}:\n${lines.map(shortened).join('\n')}`);
      if (run.probe !== null) {
        const { status } = await fetch(`${server.url}${run.probe}`, { headers: run.headers });
        expect([run.who, status]).toEqual([run.who, 200]);
      }
      cases += made;
    }
    expect(cases).toBeGreaterThanOrEqual(CASES_MIN);
  },
  TEST_MS,
);

/** A server that has hosts, updates and commands, with every limit lifted (E5). */
async function openFleet(dataDir: string) {
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  onTestFinished(() => osv.stop());
  const server = await startServer({ dataDir, advisoryUrl: osv.url });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  await liftLimits(operator);
  const fleet = createFleet({
    ...{ serverUrl: server.url, agents: HOSTS, registrationToken: await operator.registrationToken(HOSTS) },
    ...{ clock: { now: Date.now }, inventory: { packages: 40, updates: 5 } },
  });
  onTestFinished(() => fleet.stop());
  await fleet.enrolAll();
  await fleet.checkInAll();
  await fleet.reportAll();
  expect(fleet.verdict().problems).toEqual([]);
  const group = (await server.command('reboots', 'fleet-lock', 'add', '--group', 'sample-text')).trim();
  const updates = (await operator.updates({ state: 'pending' })).map(({ id }) => id);
  await operator.call('POST', '/api/v1/updates/approve', { update_ids: updates.slice(0, HOSTS) });
  for (const { session } of fleet.agents) {
    await operator.call('POST', `/api/v1/agents/${session?.agentId}/scan`);
  }
  return { server, operator, fleet, fleetLock: basicOf(group) };
}

/** Installs it from the index that this machine's pip is configured for. */
async function install(folder: string): Promise<string> {
  const python = findTool('python3', process.env.PATH);
  if (python === null) throw new Error('python3 is not installed');
  const venv = join(folder, 'venv');
  await runTool(python, ['-m', 'venv', venv]);
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const quiet = ['-q', '--disable-pip-version-check', '--no-cache-dir'];
  await runTool(join(venv, 'bin/python'), ['-m', 'pip', 'install', ...quiet, SCHEMATHESIS], { env });
  return join(venv, 'bin/schemathesis');
}

async function operationsOf(url: string): Promise<Operation[]> {
  const { paths } = Value.Parse(Document, await (await fetch(`${url}/api/openapi.json`)).json());
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { description, security }]) => ({
        ...{ name: `${method.toUpperCase()} ${path}`, description },
        schemes: security.flatMap((scheme) => Object.keys(scheme)),
      })),
    )
    .filter(({ name }) => !Object.hasOwn(LEFT_OUT, name));
}

function nameOf({ name }: Operation): string {
  return name;
}

async function apiToken({ call }: Operator): Promise<string> {
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const asked = { label: 'schemathesis', role: 'admin', scopes: ALL_SCOPES, groups: null, expires_at };
  const { body } = await call('POST', '/api/v1/admin/api-tokens', asked);
  return Value.Parse(Type.Object({ token: Type.String() }), body).token;
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

/** As FleetLock clients send the user and the password of their base URL. */
function basicOf(secret: string): string {
  return `Basic ${Buffer.from(secret).toString('base64')}`;
}

function headersOf({ agents }: Fleet): Record<string, string> {
  const [agent] = agents;
  return { ...bearer(agent?.session?.accessToken ?? ''), 'X-Machine-ID': agent?.machineId ?? '' };
}

/**
 * All checks but one: `positive_data_acceptance` counts a 400 as a fault wherever the schema allows the request, and
 * schemas state no rule between two fields, and nothing of cursors.
 */
function configOf({ url, agentId, run }: { url: string; agentId: string; run: Run }): string {
  const refused = ['400', '401', '403', '404', '405', '409', '413', '415', '426', '429', '431'];
  return [
    `base-url = ${JSON.stringify(url)}`,
    'continue-on-failure = true',
    '[generation]',
    // U+0000 is refused everywhere (docs/protocol/requests.md), which no schema states.
    'allow-x00 = false',
    '[parameters]',
    `"path.agent_id" = ${JSON.stringify(agentId)}`,
    '[headers]',
    ...Object.entries(run.headers).map(
      ([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`,
    ),
    '[checks.positive_data_acceptance]',
    'enabled = false',
    '[checks.negative_data_rejection]',
    `expected-statuses = ${JSON.stringify(refused)}`,
    '[checks.not_a_server_error]',
    // A verdict that is not known yet (E3), with Retry-After.
    'expected-statuses = ["2xx", "3xx", "4xx", "503"]',
  ].join('\n');
}

async function runSchemathesis(
  program: string,
  { config, url, folder, run }: { config: string; url: string; folder: string; run: Run },
): Promise<{ code: number | null; lines: readonly string[] }> {
  const fixed = [
    '--seed',
    SEED,
    '--generation-database',
    'none',
    '--phases',
    'coverage,fuzzing',
    '--no-shrink',
  ];
  const chosen = run.operations.flatMap((name) => ['--include-name', name]);
  const args = ['--config-file', config, 'run', `${url}/api/openapi.json`, '--no-color', ...fixed, ...chosen];
  const child = startChild(program, [...args, '-n', CASES_OF_OPERATION], {
    cwd: folder,
    env: {
      ...{ PATH: process.env.PATH ?? '', PYTHONPATH: join(import.meta.dirname, 'openapi') },
      ...{ SCHEMATHESIS_HOOKS: 'hooks', PYTHONDONTWRITEBYTECODE: '1' },
    },
  });
  const timer = setTimeout(() => child.signal('SIGKILL'), RUN_MS);
  const { code } = await child.ended;
  clearTimeout(timer);
  return { code, lines: [...child.stdout, ...child.stderr] };
}

/** Some requests have a hundred thousand characters. */
function shortened(line: string): string {
  return line.slice(0, 500);
}
