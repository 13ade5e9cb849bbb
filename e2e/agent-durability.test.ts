import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listenOnLoopback, readBody } from '@tidegate/testkit/loopback';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type AgentConfig, loadConfig, saveConfig } from '../apps/agent/src/identity/config-file.ts';
import { configOf as enrolledIn } from '../apps/agent/src/testing/agent-config.ts';
import { createFleet } from '../apps/agent/src/testing/fleet.ts';
import { problem } from '../apps/agent/src/testing/scripted-server.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { AGENT_BINARY } from './harness/agent-binary.ts';
import { startChild } from './harness/child.ts';
import { createAgentOn, finish, type InstalledAgent, must } from './harness/host.ts';
import { liftLimits, logIn } from './harness/operator.ts';
import { startServer } from './harness/server-process.ts';
import { startTamperingProxy } from './harness/tampering-proxy.ts';
import { type DiskCall, runTraced, tracingMissing } from './harness/traced-agent.ts';

const missing = process.getuid?.() === 0 ? tracingMissing() : 'needs root, to mount a small disk';
if (missing !== null)
  process.stderr.write(`skipped: the agent under injected faults of system calls: ${missing}\n`);

/** An enrolled agent that scans nothing, its server, and a count of the renewals between them. */
async function enrolled() {
  const folder = tmpDir('tidegate-e2e-');
  onTestFinished(() => folder.remove());
  const [engine] = ENGINES;
  if (engine === undefined) throw new Error('there is no engine');
  const server = await startServer({ ...(await engine.place()), advisoryUrl: 'http://127.0.0.1:9' });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  await liftLimits(operator); // no real host renews this often
  const proxy = await startTamperingProxy(server.url);
  onTestFinished(() => proxy.stop());
  let renewals = 0;
  proxy.tamper = ({ path, body }) => {
    if (path.endsWith('/renew')) renewals += 1;
    return body;
  };
  const dir = join(folder.path, 'host');
  await mkdir(dir);
  const agent = await createAgentOn(dir, {
    serverUrl: proxy.url,
    machineId: 'm-1',
    places: ['--apt-config', '/dev/null'],
  });
  must(await agent.enrol(await operator.registrationToken()));
  saveConfig(agent.configDir, { ...configOf(agent), ecosystems: [] });
  must(await agent.runOnce());
  const folders = { configDir: agent.configDir, traceDir: folder.path };
  return { agent, operator, folders, renewals: () => renewals };
}

function configOf({ configDir }: InstalledAgent): AgentConfig {
  const loaded = loadConfig(configDir);
  if (!loaded.ok) throw new Error(loaded.detail);
  return loaded.config;
}

/** Makes the next round begin with a renewal. */
function spoilAccessToken(agent: InstalledAgent): AgentConfig {
  const path = join(agent.configDir, 'config.json');
  const config = configOf(agent);
  writeFileSync(path, readFileSync(path, 'utf8').replace(config.access_token, `${config.access_token}x`));
  return configOf(agent);
}

const TEMPORARY = '/.config.json.*.tmp';
/** The calls of one durable write; a renewal makes two of them. */
const WRITE = ['fchmod', 'write', 'fsync', 'rename'].map((name) => `${name} ${TEMPORARY}`).concat('fsync ');
/** The number of calls at which one write can be stopped: all but `write` itself. */
const FIRST_WRITE = WRITE.length - 1;

/** The calls of an undisturbed renewal, at which the next ones are disturbed. */
async function momentsOfRenewal({
  agent,
  folders,
}: Awaited<ReturnType<typeof enrolled>>): Promise<DiskCall[]> {
  spoilAccessToken(agent);
  const { calls, code } = await runTraced(folders);
  expect([code, ...calls.map(({ name, on }) => `${name} ${on}`)]).toEqual([0, ...WRITE, ...WRITE]);
  return momentsOf(calls);
}

function momentsOf(calls: readonly DiskCall[]): DiskCall[] {
  return calls.filter(({ name }) => name !== 'write');
}

/** Mounts a small file system for the test. */
function mountSmall(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tidegate-story', folder]);
  onTestFinished(() => void execFileSync('umount', [folder]));
}

function fillUp(path: string): void {
  const fd = openSync(path, 'w');
  try {
    for (;;) writeSync(fd, Buffer.alloc(4_096));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(fd);
  }
}

test('the compiled agent sends E1 once, on a new connection that no HTTP layer retries as stale (section 3)', async () => {
  const fleet = createFleet(Date.now());
  const seen: { path: string; connection: string | undefined; port: number | undefined }[] = [];
  const server = await listenOnLoopback(async (request, response) => {
    await readBody(request, 1_000_000);
    const path = (request.url ?? '').replace(/.*\//, '');
    seen.push({ path, connection: request.headers.connection, port: request.socket.remotePort });
    if (path === 'renew') return void request.socket.destroy();
    const { status, headers, body } = problem('access_token_expired');
    response.writeHead(status, headers).end(body); // and the connection stays open
  });
  onTestFinished(() => server.stop());
  const folder = tmpDir('tidegate-e2e-');
  onTestFinished(() => folder.remove());
  const machine_id_source = `file:${join(folder.path, 'machine-id')}`;
  writeFileSync(join(folder.path, 'machine-id'), fleet.machineId);
  saveConfig(folder.path, enrolledIn(fleet, { server_url: server.url, machine_id_source, ecosystems: [] }));
  const args = ['run', '--once', '--json', '--config', folder.path];
  const { code } = await finish(startChild(AGENT_BINARY, args, { env: { PATH: SYSTEM_PATH } }));
  expect([code, ...seen.map(({ path }) => path)]).toEqual([1, 'check-in', 'renew']);
  expect(seen[1]?.connection).toBe('close');
  expect(seen[1]?.port).not.toBe(seen[0]?.port);
});

describe.skipIf(missing !== null)('the compiled agent with faults of system calls during a renewal', () => {
  test('kill -9 at every fchmod, fsync and rename: config.json is the old or the new one, and no family is lost (RT5)', async () => {
    const world = await enrolled();
    const { agent, operator, folders, renewals } = world;
    for (const [index, at] of (await momentsOfRenewal(world)).entries()) {
      const context = `${index + 1}: ${at.name} ${at.on}`;
      const before = spoilAccessToken(agent);
      const sentBefore = renewals();
      const run = await runTraced(folders, { at, how: 'SIGKILL' });
      expect(run.calls.at(-1), context).toEqual(at);
      expect(momentsOf(run.calls), context).toHaveLength(index + 1);
      expect(run.json, context).toBe('');
      // E1 is sent only after the request id is durable on disk.
      expect(renewals() - sentBefore, context).toBe(index < FIRST_WRITE ? 0 : 1);
      const found = configOf(agent); // it must always parse
      const isNew = found.refresh_token !== before.refresh_token;
      expect(isNew, context).toBe(index === 2 * FIRST_WRITE - 1);
      expect(found, context).toEqual(
        isNew
          ? { ...before, access_token: found.access_token, refresh_token: found.refresh_token }
          : { ...before, pending_request_id: index < FIRST_WRITE - 1 ? null : expect.any(String) },
      );
      expect((await agent.runOnce()).code, context).toBe(0);
      expect(configOf(agent).pending_request_id, context).toBeNull();
    }
    expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toEqual([]);
    // The three moments after the server has renewed and before the agent has stored it.
    expect(await operator.events({ type: 'REFRESH_GRACE_USED' })).toHaveLength(3);
  });

  test('a second kill in the same renewal revokes the family, and the agent says what to do (I4)', async () => {
    const world = await enrolled();
    const { agent, operator, folders } = world;
    const [, , , , at] = await momentsOfRenewal(world);
    if (at === undefined) throw new Error('the second write was not traced');
    spoilAccessToken(agent);
    await runTraced(folders, { at, how: 'SIGKILL' });
    await runTraced(folders, { at, how: 'SIGKILL' });
    const last = await agent.runOnce();
    expect(last).toMatchObject({ code: 2, json: { error: 'ErrRefreshTokenInvalid' } });
    expect(last.json).toMatchObject({ detail: expect.any(String) });
    expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toHaveLength(1);
  });

  test('E1 is not sent while the disk is full, and is sent once there is room (RT8)', async () => {
    const { agent, folders, renewals } = await enrolled();
    const before = spoilAccessToken(agent);
    const files = readdirSync(agent.configDir);
    const kept = join(folders.traceDir, 'kept');
    cpSync(agent.configDir, kept, { recursive: true });
    mountSmall(agent.configDir);
    chmodSync(agent.configDir, 0o700);
    cpSync(kept, agent.configDir, { recursive: true });
    const filler = join(agent.configDir, 'filler');
    const sentBefore = renewals();
    fillUp(filler);
    const full = await agent.runOnce();
    expect(full).toMatchObject({
      code: 1,
      json: { error: 'storage', detail: expect.stringContaining('ENOSPC') },
    });
    expect([renewals() - sentBefore, configOf(agent)]).toEqual([0, before]);
    expect(readdirSync(agent.configDir).sort()).toEqual([...files, 'filler'].sort()); // nothing half-written
    rmSync(filler);
    expect((await agent.runOnce()).code).toBe(0);
    expect(renewals() - sentBefore).toBe(1);
  });

  test.each(['ENOSPC', 'EIO'] as const)(
    '%s at every fsync and rename: the agent exits with 1, keeps its tokens and recovers (RT8, RT9)',
    async (how) => {
      const world = await enrolled();
      const { agent, operator, folders, renewals } = world;
      for (const [index, at] of (await momentsOfRenewal(world)).entries()) {
        const context = `${index + 1}: ${at.name} ${at.on}`;
        const before = spoilAccessToken(agent);
        const sentBefore = renewals();
        const run = await runTraced(folders, { at, how });
        expect([run.code, JSON.parse(run.json)], context).toEqual([
          1,
          { outcome: 'failed', error: 'storage', detail: expect.stringContaining(how) },
        ]);
        expect(renewals() - sentBefore, context).toBe(index < FIRST_WRITE ? 0 : 1);
        // After a failed write nothing is written, neither this file nor another.
        expect(momentsOf(run.calls), context).toHaveLength(index + 1);
        const isNew = configOf(agent).refresh_token !== before.refresh_token;
        expect(isNew, context).toBe(index === 2 * FIRST_WRITE - 1);
        expect((await agent.runOnce()).code, context).toBe(0);
      }
      expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toEqual([]);
    },
  );
});
