import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { OriginDetail } from '@tidegate/protocol/origins-api';
import { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { canMount } from '@tidegate/testkit/can-mount';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import type { Loopback } from '@tidegate/testkit/loopback';
import { runTool } from '@tidegate/testkit/run-tool';
import { serveFolder } from '@tidegate/testkit/serve-folder';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DebianTree, installDebootstrap, makeDebianTree } from '../scripts/debian-tree.ts';
import { nextRelease, releaseAgent, THIS_RELEASE, THIS_VERSION } from './harness/agent-releases.ts';
import { serveAgentsBefore } from './harness/agents-server.ts';
import { Blocked, expectAnswer, logIn, type Operator } from './harness/operator.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';
import { runInTree, startUnit } from './harness/unit-process.ts';

const SETUP_MAX_MS = 600_000;
const STORY_MAX_MS = 240_000;
const NEXT = '99.0.0';
const missing =
  process.getuid?.() === 0 && canMount() ? null : 'only root that may mount file systems installs packages';

describe.skipIf(missing !== null)(
  `the update of the agent${missing === null ? '' : ` (${missing})`}, on a Debian tree`,
  () => {
    const folder = tmpDir('tidegate-upgrade-');
    const place = (...names: string[]) => join(folder.path, ...names);
    const parts: { tree: DebianTree | null; server: ServerProcess | null; operator: Operator | null } = {
      tree: null,
      server: null,
      operator: null,
    };
    const ends: (() => Promise<unknown>)[] = [];
    let url = '';
    const tree = () => present(parts.tree);
    const operator = () => present(parts.operator);
    const path = (name: string) => join(tree().root, name);
    const inTree = (command: readonly string[], env: Record<string, string> = {}) =>
      runInTree(tree().root, command, env);

    beforeAll(async () => {
      const [key, foreign] = [writeKey('release.key', 7), writeKey('foreign.key', 8)];
      await installDebootstrap();
      const [made] = await Promise.all([makeDebianTree(folder.path), buildReleases(key, foreign)]);
      parts.tree = made;
      writeFileSync(path('etc/hosts'), '127.0.0.1 localhost\n');
      // Debian's own updates are not this story's, and take minutes to plan.
      writeFileSync(path('etc/apt/sources.list'), '');
      rmSync(path('var/lib/apt/lists'), { recursive: true });
      mkdirSync(path('var/lib/apt/lists/partial'), { recursive: true });
      // A tree has no systemd: this one writes down what it is asked.
      mkdirSync(path('run/systemd/system'), { recursive: true });
      writeFileSync(path('usr/bin/systemctl'), '#!/bin/sh\necho "$@" >>/var/log/systemctl\n');
      chmodSync(path('usr/bin/systemctl'), 0o755);
      const osv = await startFakeOsv({ covered: ['Debian:12'] });
      ends.push(() => osv.stop());
      const env = { SERVICE_SWEEP_INTERVAL_SECONDS: '1' };
      const server = await startServer({ dataDir: place('data'), advisoryUrl: osv.url, env });
      parts.server = server;
      ends.push(() => server.stop());
      const files = await serveFolder(place('served'), []);
      const front: Loopback = await serveAgentsBefore(server.url, files.url);
      ends.push(
        () => files.stop(),
        () => front.stop(),
      );
      url = front.url;
      parts.operator = await logIn(server.url);
      serve('now');
      await runTool('apt-get', ['-y', 'install', packageOf('now', THIS_VERSION)], { env: made.env });
      writeFileSync(path('etc/machine-id'), `${'5f'.repeat(16)}\n`);
    }, SETUP_MAX_MS);
    afterAll(async () => {
      for (const end of ends.toReversed()) await end();
      folder.remove();
    });

    test('enrolment has apt take the agent from the server', { timeout: STORY_MAX_MS }, async () => {
      const said = await enrol();
      expect(said).toContain('/etc/apt/sources.list.d/tidegate.sources offers updates of the agent');
      await update();
      expect(await inTree(['apt-cache', 'policy', 'tidegate-agent'])).toContain(`${url}/agents stable/main`);
      await agentRuns();
      expect(await version()).toBe(THIS_VERSION);
      expect(await doctor()).toContain(`tidegate.sources offers those of ${url}/agents`);
    });

    test('a repository of another key is refused by apt', async () => {
      serve('foreign');
      await expect(update()).rejects.toThrow('NO_PUBKEY');
    });

    test('the next release stops at the gate, passes as a registered origin, is installed, and reports', {
      timeout: STORY_MAX_MS,
    }, async () => {
      serve('next');
      await update();
      await agentRuns();
      const id = await offered(NEXT);
      const blocked = expectAnswer(await operator().approve(id), 409, Blocked);
      expect(blocked).toMatchObject({ blocked_by: 'unchecked' });
      await registerOrigin(id);
      const policy = path('etc/tidegate/policy.json');
      mkdirSync(path('etc/tidegate'), { recursive: true });
      writeFileSync(policy, JSON.stringify({ v: 1, agent_updates: 'never' }));
      expect(await reasonOfRefusal(id)).toContain('host_policy (agent_updates_never)');
      expect(await doctor()).toContain('updates of the agent: by hand only');
      rmSync(policy);
      change(`served/agents/tidegate-agent_${NEXT}_linux-x64.deb`);
      expect(await reasonOfRefusal(id)).toMatch(/artifact_mismatch|Hash Sum/);
      expect(await versionInTree()).toBe(THIS_VERSION);
      serve('next');
      await operator().approved(id);
      await install();
      expect((await operator().update(id)).state).toBe('installed');
      expect(readdirSync(path('var/spool/tidegate/jobs'))).toEqual([]);
      const asked = readFileSync(path('var/log/systemctl'), 'utf8').trimEnd().split('\n');
      expect(asked.slice(-2)).toEqual(['daemon-reload', 'try-restart tidegate-agent.service']);
      await agentRuns();
      expect(await version()).toBe(NEXT);
    });

    test('it is rolled back like any other update', { timeout: STORY_MAX_MS }, async () => {
      const [done] = await operator().updates({ name: 'tidegate-agent', state: 'installed' });
      const body = { update_ids: [done?.id], reason: 'the next one is not for us' };
      const answer = await operator().call('POST', '/api/v1/updates/rollback', body);
      const [asked] = expectAnswer(answer, 200, RollbackAnswer).requested;
      const id = asked?.update_id ?? '';
      await agentRuns();
      const state = async () => (await operator().update(id)).state;
      await expect.poll(state, { interval: 500 }).toBe('pending');
      // A registration lets people approve, and nothing by itself.
      await operator().approved(id);
      await install();
      expect((await operator().update(id)).state).toBe('installed');
      await agentRuns();
      expect(await version()).toBe(THIS_VERSION);
    });

    function writeKey(name: string, byte: number): string {
      writeFileSync(place(name), `${generatePrivateKeyHex(new Uint8Array(32).fill(byte))}\n`);
      return place(name);
    }

    async function buildReleases(key: string, foreign: string): Promise<void> {
      const build = (source: string, name: string, args: string[]) =>
        releaseAgent(source, { out: place(name, 'release'), agents: place(name, 'agents'), args });
      const next = nextRelease(place('source'), NEXT);
      await build(THIS_RELEASE, 'now', ['--format', 'deb', '--release-key', key]);
      const back = ['--format', 'deb', '--earlier', place('now/release')];
      await build(next, 'next', [...back, '--release-key', key]);
      await build(next, 'foreign', ['--format', 'deb', '--release-key', foreign]);
    }

    function packageOf(name: string, of: string): string {
      return place(name, 'release', `tidegate-agent_${of}_linux-x64.deb`);
    }

    function serve(release: string): void {
      rmSync(place('served'), { recursive: true, force: true });
      cpSync(place(release, 'agents'), place('served/agents'), { recursive: true });
    }

    async function enrol(...more: string[]): Promise<string> {
      const words = ['--server', url, '--user', 'tidegate-agent', '--machine-id-source', 'machine-id'];
      return inTree(['tidegate-agent', 'enrol', ...words, ...more], {
        TIDEGATE_TOKEN: await operator().registrationToken(),
      });
    }

    function update(): Promise<string> {
      const options = ['APT::Sandbox::User=root', 'APT::Update::Error-Mode=any'];
      return inTree(['apt-get', 'update', ...options.flatMap((option) => ['-o', option])]);
    }

    async function agentRuns(): Promise<void> {
      const agent = startUnit({ tree: tree().root, unit: 'tidegate-agent.service', args: ['--once'] });
      expect([await agent.ended, agent.stderr.slice(-5)]).toEqual([
        { code: 0, signal: null },
        expect.anything(),
      ]);
    }

    /** The agent brings the job, and the executor, which systemd would start, installs it while the agent waits. */
    async function install(): Promise<void> {
      const agent = startUnit({ tree: tree().root, unit: 'tidegate-agent.service', args: ['--once'] });
      const jobs = path('var/spool/tidegate/jobs');
      const isReady = () =>
        existsSync(jobs) && readdirSync(jobs).some((job) => existsSync(join(jobs, job, 'ready')));
      await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
      const executor = startUnit({
        ...{ tree: tree().root, unit: 'tidegate-executor.service', args: ['--linger', '0'] },
      });
      expect([await executor.ended, executor.stderr]).toEqual([{ code: 0, signal: null }, expect.anything()]);
      expect([await agent.ended, agent.stderr.slice(-5)]).toEqual([
        { code: 0, signal: null },
        expect.anything(),
      ]);
    }

    async function offered(wanted: string): Promise<string> {
      const updates = await operator().updates({ name: 'tidegate-agent' });
      const found = updates.find(({ available_version: offer }) => offer === wanted);
      expect(updates.map(({ available_version: offer }) => offer)).toContain(wanted);
      return found?.id ?? '';
    }

    async function registerOrigin(id: string): Promise<void> {
      const [action] = (await operator().update(id)).plan?.actions ?? [];
      const request = {
        ecosystem: 'apt',
        key: action?.origin_key,
        suites: [action?.origin],
        rule: 'allow',
        min_age_days: null,
        reason: 'the release key of Tidegate',
        ends_at: new Date(Date.now() + 30 * 24 * 3_600_000).toISOString().replace(/\.\d+Z/, 'Z'),
      };
      expectAnswer(await operator().call('POST', '/api/v1/admin/origins', request), 201, OriginDetail);
    }

    /** Approves what the host does not install, and opens it again. */
    async function reasonOfRefusal(id: string): Promise<string | null> {
      await operator().approved(id);
      await agentRuns();
      expect((await operator().update(id)).state).toBe('failed');
      const [command] = await operator().commands({ action: 'install_update' });
      const reopened = await operator().call('POST', `/api/v1/updates/${id}/reopen`, {});
      expect(reopened.status).toBe(200);
      return command?.reason ?? null;
    }

    function change(name: string): void {
      const bytes = readFileSync(place(name));
      const middle = Math.floor(bytes.length / 2);
      bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
      writeFileSync(place(name), bytes);
    }

    async function versionInTree(): Promise<string> {
      return (await inTree(['tidegate-agent', 'version'])).trim();
    }

    async function version(): Promise<string> {
      const shape = Type.Object({ items: Type.Array(Type.Object({ agent_version: Type.String() })) });
      const { items } = expectAnswer(await operator().call('GET', '/api/v1/agents'), 200, shape);
      return items.map(({ agent_version: found }) => found).join();
    }

    /** What it prints, whatever it finds: a tree has no systemd. */
    function doctor(): Promise<string> {
      return inTree([
        'sh',
        '-c',
        'setpriv --reuid tidegate-agent --regid tidegate-agent --clear-groups tidegate-agent doctor 2>&1 || true',
      ]);
    }
  },
);

function present<T>(value: T | null): T {
  if (value === null) throw new Error('the setup is not over');
  return value;
}
