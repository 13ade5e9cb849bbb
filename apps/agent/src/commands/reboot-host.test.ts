import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentEvents, CommandResult } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JOB_FILES } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { runLoop, runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';

let agent: TestAgent;
let handed: string[];
beforeEach(async () => {
  agent = await createAgent();
  handed = [];
});
afterEach(() => agent.stop());

function deliver(command: { action: string; params: object }): string {
  const id = randomUUID();
  agent.server.commands.push({ id, envelope: agent.fleet.command({ command_id: id, ...command }) });
  return id;
}

const reboot = (order: object = {}) =>
  deliver({
    action: 'reboot',
    params: { boot_id: 'boot', warn_minutes: 5, cause: 'kernel update', ...order },
  });
/** What the server was told at the end of a command. */
const endOf = (id: string) =>
  agent.server
    .received(`commands/${id}/result`)
    .map((body) => Value.Parse(CommandResult, body))
    .filter(({ status }) => status !== 'running');
const told = () =>
  agent.server
    .received('events')
    .flatMap((body) => Value.Parse(AgentEvents, body).events)
    .map(({ type, details }) => [type, details?.check]);
const says =
  (result: CommandResult): TestAgent['executorSays'] =>
  (command_id) => {
    handed.push(command_id);
    return { command_id, failure: null, check: null, result };
  };
const spool = () => (agent.executor.how === 'none' ? '' : agent.executor.spool);

describe('a reboot', () => {
  test('that ends this agent is proven by the boot of the next one, and reported once', async () => {
    agent.executorSays = (id) => {
      handed.push(id);
      return null; // the executor goes down with the host
    };
    const id = reboot();
    await runOnce(agent.start());
    expect([handed, endOf(id)]).toEqual([[id], []]);
    agent.bootId = 'next boot';
    agent.executorSays = () => null;
    await runOnce(agent.start());
    await runOnce(agent.start());
    expect(endOf(id)).toEqual([{ status: 'success', boot_id: 'next boot', finished_at: timestamp(NOW_MS) }]);
    expect(handed).toEqual([id]);
    expect(existsSync(join(spool(), id))).toBe(false);
  });

  test.each([
    ['once it is proven', 'next boot', 1],
    ['and not after a refusal', 'boot', 0],
  ])('has the probes run again: %s', async (_, bootId, times) => {
    agent.executorSays = () => null;
    reboot();
    await runOnce(agent.start());
    agent.bootId = bootId;
    const refusal = says({ status: 'refused', reason: 'reboot_blocked: user ada' });
    agent.executorSays = bootId === 'boot' ? refusal : () => null;
    const { probes, ...runtime } = agent.start();
    let followUps = 0;
    const followUp = () => {
      followUps += 1;
    };
    await runOnce({ ...runtime, probes: { ...probes, followUp } });
    expect(followUps).toBe(times);
  });

  test('whose executor left a result before the boot ended is reported with that result', async () => {
    agent.executorSays = () => null;
    const id = reboot();
    await runOnce(agent.start());
    agent.bootId = 'next boot';
    agent.executorSays = says({ status: 'refused', reason: 'reboot_blocked: user ada' });
    await runOnce(agent.start());
    expect(endOf(id)).toMatchObject([{ status: 'refused' }]);
  });

  test('that never came is no success: the same boot goes on', async () => {
    agent.executorSays = () => null;
    const id = reboot();
    await runOnce(agent.start());
    await runOnce(agent.start());
    expect(endOf(id)).toMatchObject([{ status: 'interrupted' }]);
  });

  test('of a boot that has ended is success, and nothing is handed over', async () => {
    const id = reboot({ boot_id: 'an earlier boot' });
    await runOnce(agent.start());
    expect(endOf(id)).toMatchObject([
      { status: 'success', boot_id: 'boot', reason: expect.stringMatching(/^already_rebooted/) },
    ]);
    expect(handed).toEqual([]);
  });

  test('outside the hours of the host waits for the next ones', async () => {
    const policy = { v: 1, hours: [{ days: ['sun'], from: '02:00', to: '03:00' }] };
    writeFileSync(join(agent.folder, 'policy.json'), JSON.stringify(policy), { mode: 0o644 });
    const id = reboot();
    await runOnce(agent.start());
    expect(endOf(id)).toMatchObject([{ status: 'refused', retry_at: '2026-11-22T02:00:00Z' }]);
  });

  test('leaves no wait behind once its executor has ended: `run --once` would end that much later', async () => {
    agent.executorSays = says({ status: 'refused', reason: 'reboot_blocked: user ada' });
    const id = reboot();
    const waits: Promise<void>[] = [];
    const sleep = (_: number, signal: AbortSignal) => {
      const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      waits.push(ended);
      return ended;
    };
    await runOnce(agent.start(), { sleep });
    expect(endOf(id)).toMatchObject([{ status: 'refused' }]);
    expect(waits).toHaveLength(1);
    await Promise.all(waits);
  });

  test('brings the executor a fresh state every 20 seconds while it waits', async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const id = reboot();
    const seen: string[] = [];
    const read = () => readFileSync(join(spool(), id, JOB_FILES.state), 'utf8');
    const stop = new AbortController();
    const runtime = agent.start({
      runExecutor: async () => {
        seen.push(read());
        agent.server.agentState = agent.fleet.agentState({ revoked_tokens: [id] });
        await over;
        stop.abort();
        return 'left';
      },
    });
    await runLoop(runtime, {
      signal: stop.signal,
      sleep: async (ms, signal) => {
        if (ms !== 20_000) return agent.sleep(Math.min(ms, 50), signal);
        // The second wait begins when the state of the first has been left.
        seen.push(read());
        if (seen.length > 2) end();
      },
    });
    const revoked = seen.map((text) => JSON.parse(text).payload).map((text) => Buffer.from(text, 'base64'));
    expect(revoked[0]?.toString()).not.toContain(id);
    expect(revoked.at(-1)?.toString()).toContain(id);
  });
});

describe('a restart of services', () => {
  test('is handed over after a fresh look, and its result is reported by unit', async () => {
    const units = [{ unit: 'web.service', outcome: 'restarted' as const }];
    agent.executorSays = says({ status: 'success', units });
    const id = deliver({ action: 'restart_services', params: { units: ['web.service'] } });
    let looks = 0;
    const watch = agent.start().restarts;
    const restarts = {
      ...watch,
      refresh: async () => {
        looks += 1;
      },
    };
    await runOnce(agent.start({ restarts }));
    expect([handed, looks > 0]).toEqual([[id], true]);
    expect(endOf(id)).toMatchObject([{ status: 'success', units }]);
  });

  test.each([
    ['reboot_never', { reboot: 'never' }, 'reboot'],
    ['restart_never', { restart_services: 'never' }, 'restart_services'],
  ])('that the host forbids is not handed over: %s', async (check, policy, action) => {
    writeFileSync(join(agent.folder, 'policy.json'), JSON.stringify({ v: 1, ...policy }), { mode: 0o644 });
    const id = action === 'reboot' ? reboot() : deliver({ action, params: { units: ['web.service'] } });
    await runOnce(agent.start());
    expect(endOf(id)).toMatchObject([
      { status: 'refused', reason: expect.stringContaining(`host_policy (${check})`) },
    ]);
    expect(told()).toEqual([['COMMAND_REFUSED', check]]);
    expect(handed).toEqual([]);
  });
});
