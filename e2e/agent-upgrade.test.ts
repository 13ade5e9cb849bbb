import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentPackages } from '@tidegate/protocol/agent-packages-api';
import { OriginDetail } from '@tidegate/protocol/origins-api';
import { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { canMount } from '@tidegate/testkit/can-mount';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installLine } from '../apps/console/src/enrolment/line-rules.ts';
import { filesOf } from '../scripts/release/tree.ts';
import { nextRelease, releaseAgent, THIS_RELEASE, THIS_VERSION } from './harness/agent-releases.ts';
import { type ApproveRequest, Blocked, expectAnswer, logIn, type Operator } from './harness/operator.ts';
import { startServer } from './harness/server-process.ts';
import { createTreeHost, type TreeHost } from './harness/tree-host.ts';

const SETUP_MAX_MS = 900_000;
const STORY_MAX_MS = 240_000;
const NEXT = '99.0.0';
const needed = ['rpmbuild', 'createrepo_c'].find((tool) => findTool(tool) === null);
const missing =
  process.getuid?.() !== 0 || !canMount()
    ? 'only root that may mount file systems installs packages'
    : needed === undefined
      ? null
      : `${needed} is not installed (packages rpm, createrepo-c)`;

const APT = {
  manager: 'apt',
  ...{ format: 'deb', sources: '/etc/apt/sources.list.d/tidegate.sources' },
  ...{ offer: NEXT, foreign: 'NO_PUBKEY', mismatch: /artifact_mismatch|Hash Sum/ },
  refresh: ['apt-get', 'update', '-o', 'APT::Sandbox::User=root', '-o', 'APT::Update::Error-Mode=any'],
} as const;
const DNF = {
  manager: 'dnf',
  ...{ format: 'rpm', sources: '/etc/yum.repos.d/tidegate.repo' },
  ...{ offer: `0:${NEXT}-1`, foreign: 'GPG signature', mismatch: /artifact_mismatch|checksum/ },
  refresh: ['dnf', '-y', '--setopt=tidegate.skip_if_unavailable=0', 'makecache', '--refresh'],
} as const;

const folder = tmpDir('tidegate-upgrade-');
const place = (...names: string[]) => join(folder.path, ...names);
const served = place('served');

describe.skipIf(missing !== null)(`the agent of a host${missing === null ? '' : ` (${missing})`}`, () => {
  beforeAll(buildReleases, SETUP_MAX_MS);
  afterAll(() => folder.remove());

  describe.each([APT, DNF])('with $manager, from its server', (kind) => {
    const stack = new AsyncDisposableStack();
    const parts: { host: TreeHost | null; operator: Operator | null } = { host: null, operator: null };
    const host = () => present(parts.host);
    const operator = () => present(parts.operator);
    const refresh = () => host().run(kind.refresh);
    let url = '';

    beforeAll(async () => {
      serve('now');
      const own = place(kind.manager);
      mkdirSync(own, { mode: 0o755 });
      const osv = await startFakeOsv({ covered: ['Debian:12'] });
      stack.defer(() => osv.stop());
      const server = await startServer({
        ...{ dataDir: join(own, 'data'), advisoryUrl: osv.url },
        env: { SERVICE_SWEEP_INTERVAL_SECONDS: '1', SERVICE_AGENTS_DIR: served },
      });
      stack.defer(async () => void (await server.stop()));
      url = server.url;
      parts.operator = await logIn(url);
      parts.host = await createTreeHost(own, kind.manager);
    }, SETUP_MAX_MS);
    afterAll(() => stack.disposeAsync());

    test('one line installs and enrols it, and names the repository', { timeout: STORY_MAX_MS }, async () => {
      const said = await host().run(['sh', '-c', await line()]);
      expect(said).toMatch(/: OK\n[\s\S]*enrolled as agent /);
      expect(said).toContain(`${kind.sources} offers updates of the agent`);
      await refresh();
      await host().agentRuns();
      expect(await version()).toBe(THIS_VERSION);
      expect(await host().doctor()).toContain(`${kind.sources} offers those of ${url}/agents`);
    });

    test('a repository of another key is refused', async () => {
      serve('foreign');
      await expect(refresh()).rejects.toThrow(kind.foreign);
    });

    test('the next release is an update that stops at the gate, and is installed when it is approved', {
      timeout: STORY_MAX_MS,
    }, async () => {
      serve('next');
      await refresh();
      await host().agentRuns();
      const id = await offered(kind.offer);
      expect(expectAnswer(await operator().approve(id), 409, Blocked).blocked_by).toBe('unchecked');
      if (kind.manager === 'apt') await registerOrigin(id);

      const policy = host().path('etc/tidegate/policy.json');
      mkdirSync(host().path('etc/tidegate'), { recursive: true });
      writeFileSync(policy, JSON.stringify({ v: 1, agent_updates: 'never' }));
      expect(await reasonOfRefusal(id)).toContain('host_policy (agent_updates_never)');
      expect(await host().doctor()).toContain('updates of the agent: by hand only');
      rmSync(policy);

      change(`tidegate-agent_${NEXT}_linux-x64.${kind.format}`);
      expect(await reasonOfRefusal(id)).toMatch(kind.mismatch);
      expect((await host().run(['tidegate-agent', 'version'])).trim()).toBe(THIS_VERSION);

      serve('next');
      await operator().approved(id, consent());
      await host().install();
      expect((await operator().update(id)).state).toBe('installed');
      expect(readdirSync(host().path('var/spool/tidegate/jobs'))).toEqual([]);
      expect(host().asked(3)).toContain('try-restart tidegate-agent.service');
      await host().agentRuns();
      expect(await version()).toBe(NEXT);
    });

    test('it is rolled back like any other update', { timeout: STORY_MAX_MS }, async () => {
      const [done] = await operator().updates({ name: 'tidegate-agent', state: 'installed' });
      const body = { update_ids: [done?.id], reason: 'the next one is not for us' };
      const answer = await operator().call('POST', '/api/v1/updates/rollback', body);
      const id = expectAnswer(answer, 200, RollbackAnswer).requested[0]?.update_id ?? '';
      await host().agentRuns();
      await expect.poll(async () => (await operator().update(id)).state, { interval: 500 }).toBe('pending');
      // A registration lets people approve, and nothing by itself.
      await operator().approved(id, consent());
      await host().install();
      expect((await operator().update(id)).state).toBe('installed');
      await host().agentRuns();
      expect(await version()).toBe(THIS_VERSION);
    });

    /** The line of the console. */
    async function line(): Promise<string> {
      const answer = await operator().call('GET', '/api/v1/admin/agent-packages');
      const { files } = expectAnswer(answer, 200, AgentPackages);
      const file = present(files.find(({ format }) => format === kind.format) ?? null);
      const token = await operator().registrationToken();
      return present(installLine({ origin: url, token, file, fetcher: 'curl', caSha256: null }));
    }

    /** What an approval needs: dnf names no key of an origin that could be registered. */
    function consent(): ApproveRequest {
      return kind.manager === 'apt' ? {} : { override_supply_chain: true, override_reason: 'released by us' };
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
      await operator().approved(id, consent());
      await host().agentRuns();
      expect((await operator().update(id)).state).toBe('failed');
      const [command] = await operator().commands({ action: 'install_update' });
      const reopened = await operator().call('POST', `/api/v1/updates/${id}/reopen`, {});
      expect(reopened.status).toBe(200);
      return command?.reason ?? null;
    }

    async function version(): Promise<string> {
      const shape = Type.Object({ items: Type.Array(Type.Object({ agent_version: Type.String() })) });
      const { items } = expectAnswer(await operator().call('GET', '/api/v1/agents'), 200, shape);
      return items.map(({ agent_version: found }) => found).join();
    }
  });
});

/** Two releases of one key, and one that somebody else has signed. */
async function buildReleases(): Promise<void> {
  const writeKey = (name: string, byte: number) => {
    writeFileSync(place(name), `${generatePrivateKeyHex(new Uint8Array(32).fill(byte))}\n`);
    return place(name);
  };
  const [key, foreign] = [writeKey('release.key', 7), writeKey('foreign.key', 8)];
  const build = (source: string, name: string, args: string[]) =>
    releaseAgent(source, {
      ...{ out: place(name, 'release'), agents: place(name, 'agents') },
      args: ['--format', 'deb', '--format', 'rpm', ...args],
    });
  const next = nextRelease(place('source'), NEXT);
  await build(THIS_RELEASE, 'now', ['--release-key', key]);
  const earlier = ['--earlier', place('now/release')];
  await build(next, 'next', [...earlier, '--release-key', key]);
  await build(next, 'foreign', ['--release-key', foreign]);
}

/** What an upgrade of the package tidegate-agents does below a running server. */
function serve(release: string): void {
  rmSync(served, { recursive: true, force: true });
  cpSync(place(release, 'agents'), served, { recursive: true });
}

/** As somebody who has the server, but not the release key: another byte in a file, with checksums that agree. */
function change(name: string): void {
  const bytes = readFileSync(join(served, name));
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  writeFileSync(join(served, name), bytes);
  const files = filesOf(served).filter(({ path }) => !path.startsWith('SHA256SUMS'));
  writeFileSync(join(served, 'SHA256SUMS'), files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join(''));
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error('the setup is not over');
  return value;
}
