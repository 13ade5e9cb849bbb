import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandResult } from '@tidegate/protocol/agent-api';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { aptInstaller } from '../executor/apt.ts';
import { aptRepairer } from '../executor/apt-repair.ts';
import { executeJob } from '../executor/execute.ts';
import { runSpool } from '../executor/run-spool.ts';
import { saveExecutorState } from '../jobs/executor-state.ts';
import { isMarkedReady } from '../jobs/job-folder.ts';
import { awaitResult, EXECUTOR_UID, runExecutor } from '../jobs/start-executor.ts';
import { timestamp } from '../platform/clock.ts';
import { ownUid } from '../platform/file-layer.ts';
import { runLoop } from '../polling/loop.ts';
import { systemdControl } from '../reboots/host-control.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS, updateOf } from '../testing/fleet.ts';

const missing = ownUid() === EXECUTOR_UID ? aptHostMissing() : 'results are believed from root alone';
if (missing !== null) console.log(`skipped: the update of the agent's own package: ${missing}`);

/** The postinst waits as `systemctl restart` does: until the old process has ended and the new one runs. */
describe.skipIf(missing !== null)('the update of the package of the agent itself', () => {
  const dir = tmpDir('tidegate-own-package-');
  const [stopping, started] = [join(dir.path, 'stopping'), join(dir.path, 'started')];
  const restart = `touch ${stopping}; n=0; until [ -e ${started} ]; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done`;
  const name = 'tidegate-agent';
  let host: AptHost;
  let agent: TestAgent;
  const [spool, state] = [join(dir.path, 'spool'), join(dir.path, 'executor')];

  beforeAll(async () => {
    const offered = [{ name, version: '1.1-1', postinst: restart }];
    host = await createAptHost(dir.path, {
      packages: [{ installed: [{ name, version: '1.0-1' }], offered }],
    });
    agent = await createAgent();
    agent.executor = { how: 'systemd', spool, state };
    mkdirSync(spool);
    saveExecutorState(state, {
      ...{ v: 1, fleet_id: agent.fleet.fleetId, agent_id: agent.fleet.agentId },
      machine_id_source: `file:/${join(agent.folder, 'machine-id').slice(1)}`,
      trusted_keys: agent.fleet.trusted,
      places: { apt_config: host.aptConf },
      newest_state: timestamp(NOW_MS),
    });
  });
  afterAll(async () => {
    await agent.stop();
    await host.stop();
    dir.remove();
  });

  /** A process of the agent, with apt, and the executor in a unit of its own. */
  function startAgent() {
    const stop = new AbortController();
    const members = { drivers: [aptDriver], paths: hostPaths({ apt_config: host.aptConf }), awaitResult };
    const runtime = agent.start({
      ...members,
      runExecutor: (access, job, signal) =>
        runExecutor(access, { ...job, policyPath: '/none', hostRoot: '/' }, signal),
    });
    const ended = runLoop(runtime, {
      signal: stop.signal,
      sleep: (ms, signal) => agent.sleep(Math.min(ms, 50), signal),
    });
    return { ended, stop: () => stop.abort() };
  }

  /** What the unit does once the path unit has seen the mark. */
  async function runUnit() {
    const policy = { path: join(dir.path, 'none.json'), ownerUid: ownUid(), top: dir.path };
    return runSpool({
      ...{ path: spool, lingerMs: 0, elapsedMs: () => performance.now(), pause },
      execute: (job) =>
        executeJob({
          ...{ job, state, policy, installerOf: () => aptInstaller, repairer: aptRepairer },
          ...{ host: systemdControl(dir.path), serviceFile: '/none', pause },
          ...{ nowMs: () => NOW_MS, findNetwork: () => null, lookFile: join(dir.path, 'look.json') },
          runHooks: async () => ({ runs: [], failed: null, output: '' }),
        }),
    });
  }

  async function approve(): Promise<string> {
    const paths = hostPaths({ apt_config: host.aptConf });
    const outcome = await aptDriver.plan(paths, { updates: [{ name, toVersion: '1.1-1' }] });
    if (!outcome.ok) throw new Error(outcome.reason);
    const updateId = randomUUID();
    const update = updateOf(updateId, { name, from_version: '1.0-1', to_version: '1.1-1' });
    const { envelope, reference } = agent.fleet.approval({
      ...{ ecosystem: 'apt', updates: [update], actions: outcome.plan.actions },
    });
    agent.server.approvals.set(reference.token_id, envelope);
    const id = randomUUID();
    const members = { action: 'install_update', params: { update_ids: [updateId] }, approval: reference };
    agent.server.commands.push({ id, envelope: agent.fleet.command({ command_id: id, ...members }) });
    return id;
  }

  const resultsOf = (id: string): CommandResult[] =>
    agent.server.received(`commands/${id}/result`).map((body) => {
      if (!Check(CommandResult, body)) throw new Error(`not a result: ${JSON.stringify(body)}`);
      return body;
    });

  test('the executor ends the transaction, and the restarted agent reports what dpkg says', async () => {
    const id = await approve();
    const before = startAgent();
    await vi.waitUntil(() => isMarkedReady(join(spool, id)), { timeout: 60_000 });
    const unit = runUnit();
    await vi.waitUntil(() => existsSync(stopping), { timeout: 60_000 });
    before.stop();
    expect(await before.ended).toBeNull(); // and does not wait for the installation, which waits for it
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'running']);

    const after = startAgent();
    writeFileSync(started, '');
    expect(await unit).toMatchObject({ ok: true, answered: 1, faults: [] });
    await vi.waitUntil(() => resultsOf(id).length > 2, { timeout: 60_000 });
    after.stop();
    await after.ended;
    expect((await host.installed()).get(name)).toBe('1.1-1');
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'success',
      installed: [{ name, version: '1.1-1' }],
    });
    expect(readdirSync(spool)).toEqual([]);
    expect(agent.server.received('events')).toEqual([]);
  });
});
