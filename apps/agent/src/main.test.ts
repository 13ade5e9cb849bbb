import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlanReport } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Value } from 'typebox/value';
import { afterEach, describe, expect, test } from 'vitest';
import { loadConfig, saveConfig } from './identity/config-file.ts';
import { readHostFacts } from './jobs/start-executor.ts';
import { openJournal } from './journal/journal.ts';
import { timestamp } from './platform/clock.ts';
import { AGENT_VERSION } from './platform/version.ts';
import { createFleet, type TestFleet, updateOf } from './testing/fleet.ts';
import { type FleetServer, startFleetServer } from './testing/fleet-server.ts';
import { html, problem } from './testing/scripted-server.ts';

/** A registration token where no user of the host can read it. */
const TOKEN = { env: { TIDEGATE_TOKEN: 't' } };

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Ran {
  exit: unknown;
  out: string;
  err: string;
}

async function run(
  args: string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, ['--no-warnings', main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...compiledModules(), ...options.env },
    stdio: 'pipe',
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.stdin.end(options.input ?? '');
  const [exit] = await once(child, 'close');
  return { exit, out, err };
}

test('the version is that of package.json', () => {
  const manifest = parseStrictJson(readFileSync(new URL('../package.json', import.meta.url)));
  expect(manifest).toMatchObject({ ok: true, value: { version: AGENT_VERSION } });
});

test.each<[string[], number, RegExp]>([
  [['--help'], 0, /^Usage: tidegate-agent/],
  [['version', '--json'], 0, /^\{"version":/],
  [['frobnicate'], 2, /is not a command/],
  [['run', '--config', '/nowhere'], 2, /enrol this host first/],
  [['doctor', '--config', '/nowhere', '--json'], 1, /"ok":false/],
])('%j exits %i', async (args, exit, said) => {
  const ran = await run(args);
  expect(ran.exit).toBe(exit);
  expect(ran.out + ran.err.replace(/^tidegate-agent: /, '')).toMatch(said);
});

async function host(): Promise<{
  fleet: TestFleet;
  server: FleetServer;
  folder: string;
  config: string;
  enrol: string[];
}> {
  const fleet = createFleet(Date.now());
  const server = await startFleetServer(fleet);
  const folder = tmpDir();
  stops.push(server.stop, folder.remove);
  chmodSync(folder.path, 0o755); // apt reads its files as another user
  writeFileSync(join(folder.path, 'machine-id'), fleet.machineId);
  const config = join(folder.path, 'agent');
  const places = ['--executor-state', join(folder.path, 'executor'), '--spool', join(folder.path, 'spool')];
  const machine = ['--machine-id-source', `file:${join(folder.path, 'machine-id')}`];
  const enrol = [
    'enrol',
    '--server',
    server.url,
    '--allow-insecure-http',
    '--config',
    config,
    ...['--ecosystems', 'apt'],
    ...places,
    ...machine,
  ];
  return { fleet, server, folder: folder.path, config, enrol };
}

describe('enrol', () => {
  test('pins the key set and keeps the tokens for itself (E8, R2); the token need not be an argument', async () => {
    const { fleet, config, enrol } = await host();
    const ran = await run([...enrol, '--json'], { env: { TIDEGATE_TOKEN: 'reg-secret' } });
    expect([ran.exit, ran.err]).toEqual([0, '']);
    expect(JSON.parse(ran.out)).toMatchObject({ agent_id: fleet.agentId, fleet_id: fleet.fleetId });
    const loaded = loadConfig(config);
    expect(loaded).toMatchObject({ ok: true, config: { strict: true, trusted_keys: { version: 1 } } });
    expect(statSync(config).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(config, 'config.json'), 'utf8')).not.toContain('reg-secret');
    const status = await run(['status', '--config', config, '--json']);
    expect(JSON.parse(status.out)).toMatchObject({
      agent_id: fleet.agentId,
      strict: true,
      active_keys: 1,
      newest_state: null,
      newest_state_is_old: false,
      executor_newest_state: null,
    });
    expect(status.out).not.toContain('refresh-0');
  });

  test('keeps which package managers are to be looked at, and refuses one that there is not', async () => {
    const { config, enrol } = await host();
    const wrong = await run([...enrol, '--ecosystems', 'apt,nix'], TOKEN);
    expect([wrong.exit, wrong.err]).toEqual([
      2,
      expect.stringContaining('--ecosystems takes a list of npm, pypi'),
    ]);
    expect((await run([...enrol, '--ecosystems', 'npm, apt'], TOKEN)).exit).toBe(0);
    expect(loadConfig(config)).toMatchObject({ ok: true, config: { ecosystems: ['npm', 'apt'] } });
  });

  test('status warns when the newest signed state is older than three intervals (T12)', async () => {
    const { config, enrol } = await host();
    await run(enrol, TOKEN);
    const opened = openJournal(config, { nowMs: Date.now() });
    if (!opened.ok) throw new Error(opened.detail);
    opened.journal.noteState({ epoch: 1, server_time: timestamp(Date.now() - 20_000_000) });
    const status = await run(['status', '--config', config]);
    expect([status.exit, status.out]).toEqual([0, expect.stringMatching(/warning: .* 200\d\d s old/)]);
  });

  test('enrolled again on another machine the same agent suspects no copy, and keeps its order (T3)', async () => {
    const { config, enrol, folder, fleet } = await host();
    await run(enrol, TOKEN);
    const loaded = loadConfig(config);
    if (!loaded.ok) throw new Error(loaded.detail);
    saveConfig(config, { ...loaded.config, highest_seq: { epoch: 1, seq: 7 }, ecosystems: [] });
    const first = openJournal(config, { nowMs: Date.now() });
    if (first.ok) first.journal.recordMachine(fleet.machineSha256);
    writeFileSync(join(folder, 'machine-id'), 'another');
    expect((await run([...enrol, '--replace'], TOKEN)).exit).toBe(0);
    const again = openJournal(config, { nowMs: Date.now() });
    const sha256 = createHash('sha256').update('another').digest('hex');
    expect(again.ok && again.journal.recordMachine(sha256).before).toBe(sha256);
    expect(loadConfig(config)).toMatchObject({ ok: true, config: { highest_seq: { epoch: 1, seq: 7 } } });
  });

  test('a second enrolment is refused unless the first is thrown away', async () => {
    const { enrol } = await host();
    expect((await run([...enrol, '--token', '-'], { input: 'reg-secret\n' })).exit).toBe(0);
    const again = await run(enrol, TOKEN);
    expect([again.exit, again.err]).toEqual([2, expect.stringContaining('--replace')]);
    expect((await run([...enrol, '--replace'], TOKEN)).exit).toBe(0);
  });

  test('a token in the arguments works, and is warned of: every user of the host can read it', async () => {
    const { enrol } = await host();
    const ran = await run([...enrol, '--token', 'tgr_secret']);
    expect([ran.exit, ran.err]).toEqual([
      0,
      expect.stringMatching(/^tidegate-agent: warning: .* TIDEGATE_TOKEN/),
    ]);
    expect(ran.out + ran.err).not.toContain('tgr_secret');
  });

  test.each([
    [problem('registration_token_invalid'), 2, 'make a new one'],
    [problem('machine_already_registered'), 2, 'revoke it in the console'],
    [problem('machine_in_another_group'), 2, 'use a token of its group'],
    [problem('rate_limited'), 1, '429'],
    [html(403), 1, 'a proxy'],
  ])('a refusal says what to do (%#)', async (reply, exit, said) => {
    const { enrol, server, config } = await host();
    server.override = () => reply;
    const ran = await run(enrol, TOKEN);
    expect([ran.exit, ran.err]).toEqual([exit, expect.stringContaining(said)]);
    expect(loadConfig(config)).toMatchObject({ ok: false, reason: 'absent' });
  });

  test('a machine is named by a source that there is, and config.json keeps which (R1)', async () => {
    const { enrol, server, config } = await host();
    const wrong = await run([...enrol, '--machine-id-source', 'bios'], TOKEN);
    expect([wrong.exit, wrong.err]).toEqual([2, expect.stringContaining('auto, machine-id, dmi')]);
    expect(server.received('agents/register')).toEqual([]);
    const ran = await run([...enrol, '--json'], TOKEN);
    const { machine_id_source: source }: Record<string, unknown> = JSON.parse(ran.out);
    expect(source).toMatch(/^file:/);
    expect(loadConfig(config)).toMatchObject({ ok: true, config: { machine_id_source: source } });
  });

  test('http:// needs to be allowed but on this machine, and nothing is sent before (T1)', async () => {
    const { enrol, server } = await host();
    const careful = enrol.filter((arg) => arg !== '--allow-insecure-http');
    const elsewhere = careful.map((arg) => (arg === server.url ? 'http://localhost.evil.test' : arg));
    const refused = await run(elsewhere, TOKEN);
    expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining('not encrypted')]);
    expect(server.received('agents/register')).toEqual([]);
    expect((await run(careful, TOKEN)).exit).toBe(0);
  });

  test('a key set that nobody of its own signed is not pinned', async () => {
    const { enrol, server, fleet } = await host();
    server.keySet = createFleet(Date.now()).keySet({ version: 1, keys: [fleet.key.entry] });
    const ran = await run(enrol, TOKEN);
    expect([ran.exit, ran.err]).toEqual([2, expect.stringContaining('not_vouched_for')]);
  });
});

test('a terminal error ends run --once with 2 and says what the operator has to do (section 7)', async () => {
  const { enrol, server, config } = await host();
  await run(enrol, TOKEN);
  const loaded = loadConfig(config);
  if (!loaded.ok) throw new Error(loaded.detail);
  saveConfig(config, { ...loaded.config, ecosystems: [] }); // nothing of the machine that runs the tests
  server.override = (path) => (path === 'check-in' ? problem('unauthorized') : null);
  const ran = await run(['run', '--once', '--config', config]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain('ErrMachineMismatch');
  expect(ran.err).toContain('rebind');
  server.override = (path) => (path === 'check-in' ? html(403) : null);
  expect((await run(['run', '--once', '--config', config])).exit).toBe(1);
});

const missing = aptHostMissing() ?? (readHostFacts().uid === 0 ? null : 'needs root, to start the executor');
const noExecutor =
  missing ?? (readHostFacts().unshare === null ? 'unshare is not installed (package util-linux)' : null);
if (noExecutor !== null) console.log(`skipped: an approved update on a throw-away apt host: ${noExecutor}`);

describe.skipIf(noExecutor !== null)('an approved update on a throw-away apt host', () => {
  async function aptHost() {
    const parts = await host();
    const dir = tmpDir();
    const apt = await createAptHost(dir.path);
    stops.push(apt.stop, dir.remove);
    const ran = await run([...parts.enrol, '--apt-config', apt.aptConf], TOKEN);
    expect([ran.exit, ran.err]).toEqual([0, '']);
    await run(['run', '--once', '--config', parts.config]);
    const demo = parts.server.updateIds.get('demo:all') ?? '';
    const reports = parts.server.received('plans').map((body) => Value.Parse(PlanReport, body));
    const own = reports.findLast(({ sets }) => sets.some((set) => set.join() === demo));
    if (!own) throw new Error('no plan came');
    return { ...parts, apt, actions: own.plan.actions };
  }

  function approve(
    { fleet, server }: { fleet: TestFleet; server: FleetServer },
    actions: PlanAction[],
  ): string {
    const [updateId, id] = [randomUUID(), randomUUID()];
    const { envelope, reference } = fleet.approval({
      updates: [updateOf(updateId, { from_version: '1.0-1', to_version: '1.1-1' })],
      actions,
    });
    server.approvals.set(reference.token_id, envelope);
    const params = { update_ids: [updateId] };
    server.commands.push({
      id,
      envelope: fleet.command({ command_id: id, action: 'install_update', params, approval: reference }),
    });
    return id;
  }

  test('is installed without network by the executor, from what the token binds (A4)', async () => {
    const parts = await aptHost();
    const id = approve(parts, parts.actions);
    const ran = await run(['run', '--once', '--config', parts.config]);
    expect(parts.server.received(`commands/${id}/result`).at(-1)).toMatchObject({
      status: 'success',
      installed: expect.arrayContaining([expect.objectContaining({ name: 'demo', version: '1.1-1' })]),
    });
    expect(ran.exit).toBe(0);
    expect((await parts.apt.installed()).get('demo')).toBe('1.1-1');
    // What has changed, or by chance the whole report.
    const told = ['inventory/apt', 'inventory/apt delta'].flatMap(parts.server.received);
    expect(JSON.stringify(told.at(-1))).toContain('"name":"demo","version":"1.1-1"');
  });

  test('is not installed when the archive now has other bytes under that version', async () => {
    const parts = await aptHost();
    const id = approve(parts, parts.actions);
    await parts.apt.publish({
      name: 'demo',
      version: '1.1-1',
      depends: 'libdemo (>= 1.0)',
      content: 'other',
    });
    await run(['run', '--once', '--config', parts.config]);
    expect(parts.server.received(`commands/${id}/result`).at(-1)).toMatchObject({ status: 'failed' });
    expect((await parts.apt.installed()).get('demo')).toBe('1.0-1');
    const events: unknown = parts.server.received('events');
    expect(JSON.stringify(events)).toContain('ARTIFACT_MISMATCH');
  });
});
