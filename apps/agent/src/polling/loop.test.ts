import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  AgentEvents,
  CommandResult,
  commandResultFaults,
  InventoryReport,
  RETURN_SPREAD_MAX_MS,
} from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../identity/config-file.ts';
import { leaveSecondStartMark } from '../journal/second-start.ts';
import { BACK_OFF_CAP_MS, backOffMs, pollMs, reconnectMs, spreadMs } from '../platform/back-off.ts';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { ARTIFACT, createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { createKey, NOW_MS, revoked, type TestFleet, updateOf, upgradeOf } from '../testing/fleet.ts';
import { json, problem } from '../testing/scripted-server.ts';
import { runLoop, runOnce } from './loop.ts';

let agent: TestAgent;
let seq = 0;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

/** Has the server deliver a command; the same id until it is acknowledged. */
function deliver(members: object = {}, signedBy = agent.fleet.key): string {
  const id = randomUUID();
  seq += 1;
  agent.server.commands.push({
    id,
    envelope: agent.fleet.command({ seq, command_id: id, ...members }, signedBy),
  });
  return id;
}

function deliverInstall(
  actions = [upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT })],
  members: object = {},
): string {
  const updateId = randomUUID();
  const { envelope, reference } = agent.fleet.approval({ updates: [updateOf(updateId)], actions });
  agent.server.approvals.set(reference.token_id, envelope);
  return deliver({
    action: 'install_update',
    params: { update_ids: [updateId] },
    approval: reference,
    ...members,
  });
}

/** Results of a command as they arrived; each is held against the schema. */
function resultsOf(id: string): CommandResult[] {
  return agent.server.received(`commands/${id}/result`).map((body) => {
    if (!Check(CommandResult, body)) throw new Error(`not a result: ${JSON.stringify(body)}`);
    expect(commandResultFaults(body)).toEqual([]);
    return body;
  });
}

function eventTypes(): string[] {
  return agent.server.received('events').flatMap((body) => {
    if (!Check(AgentEvents, body)) throw new Error(`not events: ${JSON.stringify(body)}`);
    return body.events.map((event) => event.type);
  });
}

describe('run --once', () => {
  test('scans with plans, reports the exact bytes of the digest it sent, and ends', async () => {
    expect(await runOnce(agent.start())).toBeNull();
    const [report] = agent.server.received('inventory/apt');
    expect(Check(InventoryReport, report)).toBe(true);
    expect(report).toMatchObject({ complete: true, updates: [{ name: 'demo' }] });
    expect(agent.server.received('plans')).toMatchObject([
      { sets: [[agent.server.updateIds.get('demo:')]], plan: { actions: [{ name: 'demo' }] } },
    ]);
    // The server told it had what it wanted: one report, and a second check-in that asked for nothing.
    expect(agent.server.received('inventory/apt')).toHaveLength(1);
    expect(agent.server.received('check-in')).toHaveLength(2);
  });

  test('an unchanged host reports nothing again, also after a restart: the digest is the same', async () => {
    await runOnce(agent.start());
    const digest = agent.server.digests.get('apt');
    await runOnce(agent.start());
    expect(agent.server.received('inventory/apt')).toHaveLength(1);
    agent.driver.scanned = { ...agent.driver.scanned, packages: [{ name: 'demo', version: '1.1' }] };
    await runOnce(agent.start());
    expect(agent.server.received('inventory/apt')).toHaveLength(1);
    expect(agent.server.received('inventory/apt delta')).toHaveLength(1);
    expect(agent.server.digests.get('apt')).not.toBe(digest);
  });

  test('a command is acknowledged, carried out and reported', async () => {
    const id = deliver({ action: 'set_polling', params: { interval_seconds: 77 } });
    expect(await runOnce(agent.start())).toBeNull();
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'success']);
    expect(agent.server.commands).toEqual([]);
    const loaded = loadConfig(agent.folder);
    expect(loaded.ok && loaded.config.polling.check_in_seconds).toBe(77);
    expect(loaded.ok && loaded.config.highest_seq).toEqual({ epoch: 1, seq });
  });

  test('plan_update sends the plan', async () => {
    const update_id = randomUUID();
    const id = deliver({
      action: 'plan_update',
      params: { ecosystem: 'apt', updates: [{ update_id, name: 'demo', to_version: '2.0' }] },
    });
    await runOnce(agent.start());
    expect(agent.server.received('plans')).toContainEqual(expect.objectContaining({ sets: [[update_id]] }));
    expect(resultsOf(id).at(-1)?.status).toBe('success');
  });

  test('what this agent cannot do is answered, not ignored', async () => {
    const id = deliver({ action: 'update_agent', params: {} });
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('not_supported'),
    });
  });

  test('is bounded: a server with endless commands does not keep it running', async () => {
    const { server, fleet } = agent;
    server.override = (path) => {
      if (path === 'check-in') server.insistent = [fleet.command({ seq: ++seq })];
      return null;
    };
    expect(await runOnce(agent.start())).toBeNull();
    expect(server.received('check-in')).toHaveLength(50);
  });
});

describe('refusals', () => {
  test('a forged command is not executed, and is reported once however often it is delivered (COMMAND_REFUSED)', async () => {
    agent.server.insistent = [agent.fleet.command({ action: 'reboot' }, createKey(1))];
    const runtime = agent.start();
    await runOnce(runtime);
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
    expect(agent.server.received('check-in').length).toBeLessThan(5);
    expect(agent.logged.join('')).toContain('check=bad_signature');
  });

  test('a refused signed command gets a result in addition to its event', async () => {
    const id = deliver({ machine_sha256: 'a'.repeat(64) });
    await runOnce(agent.start());
    expect(resultsOf(id)).toMatchObject([
      { status: 'refused', reason: expect.stringContaining('wrong_machine') },
    ]);
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
  });

  test('a bad command does not hide the good one beside it', async () => {
    agent.server.insistent = ['nonsense', null, { payloadType: 'x' }];
    const id = deliver();
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)?.status).toBe('success');
  });
});

describe('delivery and crashes', () => {
  test('a second process with the same configuration is reported to the server once (section 5)', async () => {
    expect([leaveSecondStartMark(agent.folder), leaveSecondStartMark(agent.folder)]).toEqual([true, true]);
    await runOnce(agent.start());
    await runOnce(agent.start());
    expect(eventTypes()).toEqual(['AGENT_ERROR']);
  });

  test('a command delivered again after its acknowledgement is a replay: one event, the same result, executed once', async () => {
    const id = deliver({ action: 'set_polling', params: { interval_seconds: 5 } });
    const [again] = agent.server.commands;
    await runOnce(agent.start());
    if (again !== undefined) agent.server.commands = [again];
    await runOnce(agent.start());
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'success', 'success']);
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
    expect(agent.server.received('check-in').length).toBeLessThan(10);
  });

  test('a command that a crash cut short is reported as interrupted', async () => {
    const id = deliver();
    const crashing = agent.start();
    let scans = 0;
    const { inventory } = crashing;
    const scan: typeof inventory.scan = async () => {
      scans += 1;
      if (scans > 1) throw new Error('crash'); // the scan that the command asks for
      return { scanned: [], problems: [] };
    };
    await expect(runOnce({ ...crashing, inventory: { ...inventory, scan } })).rejects.toThrow('crash');
    await runOnce(agent.start());
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'interrupted']);
  });

  test('a result that could not be sent is kept and sent by the next process', async () => {
    const id = deliver({ action: 'set_polling', params: { interval_seconds: 5 } });
    agent.server.override = (path) => (path.endsWith('/result') ? 'hang up' : null);
    expect(await runOnce(agent.start())).toMatchObject({ kind: 'retryable' });
    agent.server.override = () => null;
    expect(await runOnce(agent.start())).toBeNull();
    expect(resultsOf(id).at(-1)?.status).toBe('success');
  });

  test('a result that the server refuses (409) is not resent for ever', async () => {
    const id = deliver();
    agent.server.override = (path) => (path.endsWith('/result') ? problem('command_finished') : null);
    expect(await runOnce(agent.start())).toBeNull();
    const sent = resultsOf(id).length;
    await runOnce(agent.start());
    expect(resultsOf(id)).toHaveLength(sent);
  });
});

describe('keys and state (T9, T12)', () => {
  test('a newer key set is fetched before commands are verified, so a revoked key commands nothing', async () => {
    const { fleet, server } = agent;
    const next = createKey(2);
    server.keySet = fleet.keySet({ version: 2, keys: [fleet.key.entry, next.entry] });
    server.state = fleet.state({ key_set_version: 2 });
    await runOnce(agent.start());
    server.keySet = fleet.keySet({
      version: 3,
      keys: [revoked(fleet.key.entry), next.entry],
      signedBy: next,
    });
    server.state = fleet.state({ key_set_version: 3 }, next);
    deliver();
    const good = deliver({ key_id: next.entry.key_id, key_version: 2 }, next);
    await runOnce(agent.start());
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
    expect(resultsOf(good).at(-1)?.status).toBe('success');
  });

  test('commands wait while a newer key set cannot be fetched', async () => {
    const id = deliver();
    agent.server.state = agent.fleet.state({ key_set_version: 2 });
    agent.server.override = (path) => (path === 'public-keys' ? problem('unavailable') : null);
    await runOnce(agent.start());
    expect([resultsOf(id), eventTypes()]).toEqual([[], []]);
    agent.server.override = () => null;
    agent.server.keySet = agent.fleet.keySet({ version: 2, keys: [agent.fleet.key.entry] });
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)?.status).toBe('success');
  });

  test('a state document signed by an untrusted key is reported once, and no command is accepted with it', async () => {
    const id = deliver();
    agent.server.state = agent.fleet.state({}, createKey(1));
    await runOnce(agent.start());
    expect(resultsOf(id)).toEqual([]);
    expect(eventTypes()).toEqual(['AGENT_ERROR']);
  });

  test('the signed server time judges commands when the host’s clock is behind (T16)', async () => {
    agent.server.state = agent.fleet.state({ server_time: timestamp(NOW_MS + 86_400_000 * 2) });
    const id = deliver();
    await runOnce(agent.start());
    expect(resultsOf(id)).toMatchObject([{ status: 'refused', reason: expect.stringContaining('expired') }]);
  });
});

describe('install_update', () => {
  const success = (command_id: string) => ({
    command_id,
    failure: null,
    check: null,
    result: { status: 'success' as const, started_at: timestamp(NOW_MS), finished_at: timestamp(NOW_MS) },
  });

  test('the result has what runs old code once the observer has looked at what was installed', async () => {
    const services = { need: 'unknown' as const, stale: [], more_services: 0 };
    const reboot = { need: 'needed' as const, evidence: [], packages: [], livepatch: 'unknown' as const };
    const report = { observed_at: timestamp(NOW_MS), boot_id: 'boot', services, reboot };
    const waited: number[] = [];
    const runtime = agent.start();
    const refreshAfter = async (endMs: number) => void waited.push(endMs);
    const restarts = { ...runtime.restarts, refreshAfter, report: () => report };
    agent.executorSays = success;
    const id = deliverInstall();
    await runOnce({ ...runtime, restarts });
    expect(waited).toEqual([NOW_MS]);
    expect(resultsOf(id).at(-1)).toMatchObject({ status: 'success', restarts: report });
  });

  test('hands a whole job to the executor, reports its result and scans again', async () => {
    let job: string[] = [];
    agent.executorSays = (id) => {
      job = readdirSync(join(agent.folder, 'spool', id)).sort();
      return success(id);
    };
    const id = deliverInstall();
    await runOnce(agent.start());
    expect(job).toEqual([
      'approval.json',
      'artifacts',
      'command.json',
      'key-set.json',
      'ready',
      'state.json',
    ]);
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'running', 'success']);
    expect(readdirSync(join(agent.folder, 'spool'))).toEqual([]);
    expect(agent.driver.scans).toBe(2);
  });

  test('files that do not fit on the disk are not downloaded', async () => {
    const vast = upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT, sizeBytes: 2 ** 52 });
    const id = deliverInstall([vast]);
    let isFetched = false;
    const fetch = async () => {
      isFetched = true;
      return { ok: true as const };
    };
    await runOnce(agent.start({ drivers: [{ ...agent.driver, fetch }] }));
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^space_insufficient: the download needs 4294967296 MiB/),
    });
    expect([isFetched, eventTypes()]).toEqual([false, []]);
  });

  test('an artifact that is not the approved one stops it before the executor (A4, ARTIFACT_MISMATCH)', async () => {
    agent.executorSays = () => {
      throw new Error('the executor must not be started');
    };
    agent.driver.brings = new TextEncoder().encode('"demo 6.6"');
    const id = deliverInstall();
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('artifact_mismatch'),
    });
    expect(eventTypes()).toEqual(['ARTIFACT_MISMATCH']);
  });

  test.each([
    ['plan_drift', 'PLAN_DRIFT'],
    ['artifact_hash_differs', 'ARTIFACT_MISMATCH'],
    ['command_refused', 'COMMAND_REFUSED'],
    ['network_present', 'AGENT_ERROR'],
  ] as const)('what the executor refuses (%s) becomes %s', async (failure, type) => {
    agent.executorSays = (command_id) => ({
      command_id,
      failure,
      check: null,
      result: { status: 'refused', reason: failure },
    });
    const id = deliverInstall();
    await runOnce(agent.start());
    expect(eventTypes()).toEqual([type]);
    expect(resultsOf(id).at(-1)?.status).toBe('refused');
  });

  test('a drift after another approved installation is no security event', async () => {
    const drift = (command_id: string) => ({
      ...{ command_id, failure: 'plan_drift' as const, check: null },
      result: { status: 'refused' as const, reason: 'plan_drift: libc6 is newer' },
    });
    agent.executorSays = success;
    deliverInstall();
    await runOnce(agent.start());
    agent.executorSays = drift;
    const id = deliverInstall();
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)).toMatchObject({ reason: 'plan_drift: libc6 is newer' });
    expect(eventTypes()).toEqual([]);
  });

  test('an approval other than the referenced one is refused', async () => {
    const id = deliverInstall();
    const [tokenId] = [...agent.server.approvals.keys()];
    agent.server.approvals.set(tokenId ?? '', agent.fleet.approval().envelope);
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('not_the_referenced_one'),
    });
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
  });

  test('an approval that cannot be fetched is retried with growing waits, then installed', async () => {
    agent.executorSays = success;
    const id = deliverInstall();
    const replies = [
      'hang up',
      problem('unavailable'),
      problem('rate_limited', { 'retry-after': '20' }),
    ] as const;
    let tries = 0;
    agent.server.override = (path) => (path.startsWith('approvals/') ? (replies[tries++] ?? null) : null);
    const waits: number[] = [];
    await runOnce(agent.start(), { sleep: async (ms) => void waits.push(ms) });
    expect([tries, waits]).toEqual([4, [2_500, 5_000, 21_000]]);
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'running', 'success']);
  });

  test.each(['not_found', 'forbidden'] as const)(
    'an approval that the server refuses (%s) ends it at once',
    async (code) => {
      const id = deliverInstall();
      let tries = 0;
      agent.server.override = (path) => {
        if (!path.startsWith('approvals/')) return null;
        tries += 1;
        return problem(code);
      };
      await runOnce(agent.start(), { sleep: async () => {} });
      expect(tries).toBe(1);
      expect(resultsOf(id).at(-1)).toMatchObject({ status: 'failed', reason: expect.stringContaining(code) });
    },
  );

  test('waiting for an approval ends when its command expires', async () => {
    const expires_at = timestamp(NOW_MS + 60_000);
    const id = deliverInstall(undefined, { expires_at });
    agent.server.override = (path) => (path.startsWith('approvals/') ? 'hang up' : null);
    let elapsedMs = 0;
    const stop = new AbortController();
    await runLoop(agent.start({ nowMs: () => NOW_MS + elapsedMs }), {
      signal: stop.signal,
      sleep: async (ms) => {
        await new Promise(setImmediate);
        if (resultsOf(id).some(({ status }) => status === 'failed')) stop.abort();
        else if (ms < 50_000) elapsedMs += ms;
      },
    });
    expect(elapsedMs).toBeLessThan(60_000);
    expect(elapsedMs).toBeGreaterThan(30_000);
    expect(resultsOf(id).at(-1)).toMatchObject({ reason: expect.stringContaining('could not be fetched') });
  });

  test('a stopping agent does not wait for an approval', async () => {
    const id = deliverInstall();
    agent.server.override = (path) => (path.startsWith('approvals/') ? 'hang up' : null);
    const stop = new AbortController();
    await runLoop(agent.start(), {
      signal: stop.signal,
      sleep: async (ms, signal) => {
        if (ms < 50_000) stop.abort();
        if (!signal.aborted) await once(signal, 'abort');
      },
    });
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)?.status).toBe('failed');
  });

  test('an approval that was revoked meanwhile is refused before the executor sees it', async () => {
    const id = deliverInstall();
    const tokens = [...agent.server.approvals.keys()];
    agent.server.agentState = agent.fleet.agentState({ revoked_tokens: tokens });
    const jobs: string[] = [];
    const runExecutor = async (_: unknown, { commandId }: { commandId: string }) => {
      jobs.push(commandId);
      return null;
    };
    await runOnce(agent.start({ runExecutor }));
    expect(jobs).toEqual([]);
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringMatching(/^taken_back: /),
    });
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
  });

  test('the state is fetched last, and again when a server with another clock signed it', async () => {
    agent.executorSays = success;
    const id = deliverInstall();
    const early = agent.fleet.agentState({ server_time: timestamp(NOW_MS - 5_000) });
    const replies = ['hang up', problem('unavailable'), json(early)] as const;
    let tries = 0;
    agent.server.override = (path) => (path === 'state' ? (replies[tries++] ?? null) : null);
    const waits: number[] = [];
    await runOnce(agent.start(), { sleep: async (ms) => void waits.push(ms) });
    expect([tries, waits]).toEqual([4, [2_500, 5_000, 10_000]]);
    expect(resultsOf(id).map(({ status }) => status)).toEqual(['running', 'running', 'success']);
  });

  test('waiting for a server whose clock is behind ends at the allowed clock skew', async () => {
    const id = deliverInstall();
    agent.server.agentState = agent.fleet.agentState({ server_time: timestamp(NOW_MS - 5_000) });
    let elapsedMs = 0;
    const stop = new AbortController();
    await runLoop(agent.start({ nowMs: () => NOW_MS + elapsedMs }), {
      signal: stop.signal,
      sleep: async (ms) => {
        await new Promise(setImmediate);
        if (resultsOf(id).some(({ status }) => status !== 'running')) stop.abort();
        else if (ms !== pollMs(60_000, 0.5)) elapsedMs += ms;
      },
    });
    expect(elapsedMs).toBeGreaterThan(CLOCK_SKEW_MS / 2);
    expect(elapsedMs).toBeLessThan(2 * CLOCK_SKEW_MS);
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('older_than_approval: '),
    });
  });

  test('a state that names a newer key set makes the agent fetch that set first', async () => {
    agent.executorSays = success;
    const id = deliverInstall();
    const next = createKey(2);
    agent.server.agentState = agent.fleet.agentState({ key_set_version: 2 }, next);
    agent.server.keySet = agent.fleet.keySet({ version: 2, keys: [agent.fleet.key.entry, next.entry] });
    const runtime = agent.start();
    await runOnce(runtime);
    expect(runtime.config.current().trusted_keys.version).toBe(2);
    expect(resultsOf(id).at(-1)?.status).toBe('success');
  });

  test.each([
    [
      'of a key that nobody trusts',
      (fleet: TestFleet) => fleet.agentState({}, createKey(9)),
      'bad_signature',
    ],
    ['of the fleet', (fleet: TestFleet) => fleet.state(), 'wrong_type'],
    ['of another agent', (fleet: TestFleet) => fleet.agentState({ agent_id: fleet.fleetId }), 'wrong_agent'],
    ['from long ago', (fleet: TestFleet) => fleet.agentState({ server_time: timestamp(NOW_MS) }), 'too_old'],
  ])('a state %s ends the command', async (_, stateOf, reason) => {
    const id = deliverInstall();
    agent.server.agentState = stateOf(agent.fleet);
    if (reason === 'too_old') agent.localMs = NOW_MS + 15 * 60_000 + 1_000;
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining(`${reason}: `),
    });
  });

  test('a host without an executor only reports', async () => {
    const id = deliverInstall();
    await runOnce(agent.start({ executor: { how: 'none', detail: 'not root' } }));
    expect(resultsOf(id).at(-1)).toMatchObject({ status: 'refused', reason: 'no_executor: not root' });
  });

  test('an executor that vanishes leaves "interrupted"', async () => {
    const id = deliverInstall();
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)?.status).toBe('interrupted');
    expect(eventTypes()).toEqual(['AGENT_ERROR']);
  });
});

describe('the polling loop', () => {
  const forever = new AbortController().signal;

  test.each([
    ['unauthorized', 'ErrMachineMismatch'],
    ['access_token_invalid', 'ErrRefreshTokenInvalid'],
  ] as const)('403 or 401 of our own (%s) stops it with %s (section 7)', async (code, error) => {
    agent.server.override = (path) => {
      if (path === 'check-in') return problem(code);
      return path === 'agents/renew' ? problem('refresh_token_invalid') : null;
    };
    const failure = await runLoop(agent.start(), { signal: forever, sleep: async () => {} });
    expect(failure).toMatchObject({ kind: 'terminal', error });
  });

  test('survives outages with growing waits, none below the interval, and stops on its signal', async () => {
    const stop = new AbortController();
    // Each wait is slept in two parts: until the check-in has settled, and the rest.
    const parts: number[] = [];
    agent.server.override = (path) => (path === 'check-in' && parts.length < 6 ? 'hang up' : null);
    const failure = await runLoop(agent.start(), {
      signal: stop.signal,
      sleep: async (ms) => {
        parts.push(ms);
        if (parts.length === 8) stop.abort();
      },
    });
    expect(failure).toBeNull();
    expect(parts).toEqual([2_000, 73_000, 2_000, 88_000, 2_000, 118_000, 2_000, 58_000]);
  });

  test('news does not shorten the wait for a server that fails, and does for one that answers', async () => {
    const stop = new AbortController();
    const waits: boolean[] = [];
    agent.server.override = (path) => (path === 'check-in' && waits.length < 2 ? 'hang up' : null);
    await runLoop(agent.start(), {
      signal: stop.signal,
      sleep: async (_, woken) => {
        waits.push(woken === stop.signal);
        if (waits.length === 4) stop.abort();
      },
    });
    expect(waits).toEqual([true, true, false, false]);
  });

  test('a host that was in contact before begins at any time of an interval, a new one at once', async () => {
    const first = async () => {
      const stop = new AbortController();
      const parts: number[] = [];
      await runLoop(agent.start(), {
        signal: stop.signal,
        sleep: async (ms) => {
          parts.push(ms);
          if (parts.length === 2) stop.abort();
        },
      });
      return parts;
    };
    expect(await first()).toEqual([2_000, 58_000]);
    expect(await first()).toEqual([30_000, 2_000, 58_000]);
  });

  test('so does one whose machine slept', async () => {
    const stop = new AbortController();
    const parts: number[] = [];
    let elapsedMs = 0;
    await runLoop(
      { ...agent.start(), elapsedMs: () => elapsedMs },
      {
        signal: stop.signal,
        sleep: async (ms) => {
          parts.push(ms);
          elapsedMs += parts.length === 4 ? 3_600_000 : ms;
          if (parts.length === 7) stop.abort();
        },
      },
    );
    expect(parts).toEqual([2_000, 58_000, 2_000, 58_000, 30_000, 2_000, 58_000]);
  });

  test('frees memory after a check-in: garbage only after work, nothing during work', async () => {
    const stop = new AbortController();
    const given: string[] = [];
    const spareMemory = {
      collectGarbage: () => void given.push('garbage'),
      releaseCode: () => void given.push('code'),
    };
    const scanned = Promise.withResolvers<void>();
    agent.driver.scan = async () => {
      await scanned.promise;
      return agent.driver.scanned;
    };
    const waits: string[][] = [];
    await runLoop(agent.start({ spareMemory }), {
      signal: stop.signal,
      sleep: async (_, woken) => {
        waits.push(given.splice(0));
        if (waits.length === 2) {
          scanned.resolve();
          await once(woken, 'abort');
        }
        if (waits.length === 10) stop.abort();
      },
    });
    expect(waits[1]).toEqual([]); // it scans still
    expect(waits.flat().filter((what) => what === 'garbage').length).toBeGreaterThan(0);
    expect(waits[9]).toEqual(['code']);
  });

  test('a report that the server refuses for now delays no result and no event', async () => {
    agent.server.override = (path) =>
      path.startsWith('inventory/') ? problem('host_budget_spent', { 'retry-after': '3600' }) : null;
    const id = deliver({ action: 'set_polling', params: { interval_seconds: 60 } });
    const stranger = deliver({}, createKey(1));
    const stop = new AbortController();
    await runLoop(agent.start(), {
      signal: stop.signal,
      sleep: async () => {
        await new Promise(setImmediate);
        if (agent.server.received('check-in').length >= 20) stop.abort();
      },
    });
    expect(agent.server.received('inventory/apt').length).toBeGreaterThan(0);
    expect(resultsOf(id).at(-1)?.status).toBe('success');
    expect(resultsOf(stranger)).toEqual([]);
    expect(eventTypes()).toEqual(['COMMAND_REFUSED']);
  });

  test('polls on while a long installation runs', async () => {
    const stop = new AbortController();
    const polled = Promise.withResolvers<void>();
    const id = deliverInstall();
    const runExecutor = async () => {
      await polled.promise;
      return null;
    };
    await runLoop(agent.start({ runExecutor }), {
      signal: stop.signal,
      sleep: async () => {
        await new Promise(setImmediate);
        if (agent.server.received('check-in').length < 20) return;
        polled.resolve();
        stop.abort();
      },
    });
    await runOnce(agent.start());
    expect(resultsOf(id).at(-1)?.status).toBe('interrupted');
  });
});

describe('waits', () => {
  test('full jitter is drawn after the cap, so hosts do not retry at once (RT3)', () => {
    expect(backOffMs(30, 1, null)).toBe(BACK_OFF_CAP_MS);
    expect(backOffMs(30, 0.25, null)).toBe(BACK_OFF_CAP_MS / 4);
    expect(backOffMs(1, 0, null)).toBe(1_000);
    expect(backOffMs(10_000, 1, null)).toBe(BACK_OFF_CAP_MS);
  });

  test('Retry-After is the minimum', () => {
    expect(backOffMs(1, 0, 30_000)).toBe(30_000);
    expect(backOffMs(1, 1, 30_000)).toBe(33_000);
  });

  test.each([
    [1, 60_000, 90_000],
    [2, 60_000, 120_000],
    [3, 60_000, 180_000],
    [4, 60_000, 240_000],
    [10_000, 60_000, 240_000],
  ])('after %d failed check-ins: between %d and %d ms, never below the interval', (failures, from, to) => {
    const wait = (random: number) =>
      reconnectMs({ failures, random, intervalMs: 60_000, retryAfterMs: null });
    expect([wait(0), wait(1)]).toEqual([from, to]);
  });

  test('Retry-After of a check-in is a minimum, spread over an interval, whoever asks for it', () => {
    const wait = (random: number, retryAfterMs: number) =>
      reconnectMs({ failures: 1, random, intervalMs: 60_000, retryAfterMs });
    expect([wait(0, 100_000), wait(0.5, 100_000), wait(1, 100_000)]).toEqual([100_000, 130_000, 160_000]);
    expect([wait(0, 5_000), wait(1, 5_000)]).toEqual([60_000, 90_000]);
  });

  test('a start is spread over an interval, of a long one over three minutes', () => {
    expect([spreadMs(60_000, 0), spreadMs(60_000, 1), spreadMs(3_600_000, 1)]).toEqual([
      ...[0, 60_000, RETURN_SPREAD_MAX_MS],
    ]);
  });

  test('an ordinary wait varies by a tenth', () => {
    expect([pollMs(60_000, 0), pollMs(60_000, 0.5), pollMs(60_000, 1)]).toEqual([54_000, 60_000, 66_000]);
  });
});
