import { randomUUID } from 'node:crypto';
import { type AgentEvent, AgentEvents } from '@tidegate/protocol/agent-api';
import { COMMAND_MAX_BYTES, COMMAND_TYPE, STATE_TYPE } from '@tidegate/protocol/documents';
import { signEnvelope } from '@tidegate/signing/sign';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, saveConfig } from '../identity/config-file.ts';
import { EXECUTOR_REFUSALS, type ExecutorRefusal } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { runOnce } from '../polling/loop.ts';
import { ARTIFACT, createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { bytesOf, createKey, NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import type { ApprovalRefusal } from '../trust/verify-approval.ts';
import { COMMAND_REFUSALS, type CommandRefusal } from '../trust/verify-command.ts';

const HOUR = 3_600_000;

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

function reported(): AgentEvent[] {
  return agent.server.received('events').flatMap((body) => {
    if (!Check(AgentEvents, body)) throw new Error(`not events: ${JSON.stringify(body)}`);
    return body.events;
  });
}

/** Type and failed check of each event, in the order in which they came. */
const told = () => reported().map(({ type, details }) => [type, details?.check]);

const signed = (text: string) =>
  signEnvelope(agent.fleet.key.key, COMMAND_TYPE, new TextEncoder().encode(text));

function expireKeys(): void {
  const loaded = loadConfig(agent.folder);
  if (!loaded.ok) throw new Error(loaded.detail);
  const trusted_keys = { ...loaded.config.trusted_keys, expires_at: timestamp(NOW_MS - HOUR) };
  saveConfig(agent.folder, { ...loaded.config, trusted_keys });
}

/** Delivers a command until the agent has acknowledged it. */
function deliver(members: object): void {
  const id = randomUUID();
  agent.server.commands.push({ id, envelope: agent.fleet.command({ command_id: id, ...members }) });
}

/** A delivery that fails exactly this check of docs/protocol/verification.md. */
const COMMANDS: Record<CommandRefusal, () => unknown[] | Promise<unknown[]>> = {
  too_large: () => [signed('x'.repeat(COMMAND_MAX_BYTES))],
  malformed_envelope: () => ['nonsense'],
  wrong_type: () => [agent.fleet.state()],
  unsigned: () => [{ ...agent.fleet.command(), signatures: [] }],
  bad_signature: () => [agent.fleet.command({}, createKey(1))],
  expired_keys: () => {
    expireKeys();
    return [agent.fleet.command()];
  },
  malformed_payload: () => [signed('{"v":1,"v":1}')],
  invalid_payload: () => [agent.fleet.command({ action: 'format_disk' })],
  unknown_critical: () => [agent.fleet.command({ crit: ['window'] })],
  wrong_fleet: () => [agent.fleet.command({ fleet_id: randomUUID() })],
  wrong_agent: () => [agent.fleet.command({ agent_id: randomUUID() })],
  wrong_machine: () => [agent.fleet.command({ machine_sha256: 'a'.repeat(64) })],
  wrong_key: () => [agent.fleet.command({ key_version: 9 })],
  stale_epoch: () => {
    agent.server.state = agent.fleet.state({ epoch: 2 });
    return [agent.fleet.command({ epoch: 1, seq: 9 })];
  },
  stale_seq: () => {
    deliver({ seq: 5 });
    return [agent.fleet.command({ seq: 5 })];
  },
  not_yet_valid: () => [agent.fleet.command({ not_before: timestamp(NOW_MS + HOUR) })],
  expired: () => [agent.fleet.command({ expires_at: timestamp(NOW_MS - HOUR) })],
  already_seen: async () => {
    const command_id = randomUUID();
    agent.server.commands = [{ id: command_id, envelope: agent.fleet.command({ command_id, seq: 1 }) }];
    await runOnce(agent.start());
    return [agent.fleet.command({ command_id, seq: 2 })];
  },
};

describe('each refused command is exactly one event that names the failed check (COMMAND_REFUSED)', () => {
  test.each(COMMAND_REFUSALS)('%s', async (check) => {
    agent.server.insistent = await COMMANDS[check]();
    await runOnce(agent.start());
    expect(told()).toEqual([['COMMAND_REFUSED', check]]);
    expect(reported()[0]?.message.length).toBeGreaterThan(10);
    expect(agent.server.received('check-in').length).toBeLessThan(10);
  });
});

const PLAN = [upgradeOf({ name: 'demo_2.0_all.deb', bytes: ARTIFACT })];

/** Delivers an installation whose approval is fetched as `change` makes it. */
function deliverInstall(
  members: Parameters<TestAgent['fleet']['approval']>[0] = {},
  change: (envelope: unknown) => unknown = (envelope) => envelope,
): void {
  const updateId = randomUUID();
  const { envelope, reference } = agent.fleet.approval({
    updates: [updateOf(updateId)],
    actions: PLAN,
    ...members,
  });
  agent.server.approvals.set(reference.token_id, change(envelope));
  deliver({ action: 'install_update', params: { update_ids: [updateId] }, approval: reference });
}

type Fetched = Exclude<
  ApprovalRefusal,
  // These occur only in files, or the command is refused before them.
  'too_large' | 'malformed_envelope' | 'unsigned' | 'expired_keys'
>;
const APPROVALS: Record<Fetched, () => void> = {
  wrong_type: () => deliverInstall({}, () => agent.fleet.state()),
  bad_signature: () =>
    deliverInstall({}, () => agent.fleet.approval({ actions: PLAN }, createKey(1)).envelope),
  malformed: () => deliverInstall({ updates: [] }),
  not_the_referenced_one: () => deliverInstall({}, () => agent.fleet.approval({ actions: PLAN }).envelope),
  wrong_fleet: () => deliverInstall({ fleet_id: randomUUID() }),
  wrong_agent: () => deliverInstall({ agent_id: randomUUID() }),
  wrong_updates: () => deliverInstall({ updates: [updateOf(randomUUID())] }),
  expired: () => deliverInstall({ expires_at: timestamp(NOW_MS - HOUR) }),
  plan_digest_differs: () => deliverInstall({ plan_sha256: 'a'.repeat(64) }),
  unsound_plan: () => deliverInstall({ actions: PLAN.map((action) => ({ ...action, name: 'other' })) }),
};

describe('each refused approval is exactly one event that names the failed check (COMMAND_REFUSED)', () => {
  test.each(Object.entries(APPROVALS))('%s', async (check, deliver) => {
    deliver();
    await runOnce(agent.start());
    expect(told()).toEqual([['COMMAND_REFUSED', check]]);
  });

  test('approval_missing', async () => {
    deliver({ action: 'install_update', params: { update_ids: [randomUUID()] } });
    await runOnce(agent.start());
    expect(told()).toEqual([['COMMAND_REFUSED', 'approval_missing']]);
  });

  test('no_executor', async () => {
    deliverInstall();
    await runOnce(agent.start({ executor: { how: 'none', detail: 'not root' } }));
    expect(told()).toEqual([['COMMAND_REFUSED', 'no_executor']]);
  });
});

const BY_EXECUTOR: Record<ExecutorRefusal, AgentEvent['type'] | null> = {
  not_set_up: 'AGENT_ERROR',
  network_present: 'AGENT_ERROR',
  job_unreadable: 'AGENT_ERROR',
  command_refused: 'COMMAND_REFUSED',
  not_an_install: 'COMMAND_REFUSED',
  approval_refused: 'COMMAND_REFUSED',
  state_refused: 'COMMAND_REFUSED',
  unsupported_ecosystem: 'AGENT_ERROR',
  artifact_extra: 'ARTIFACT_MISMATCH',
  artifact_missing: 'ARTIFACT_MISMATCH',
  artifact_not_a_file: 'ARTIFACT_MISMATCH',
  artifact_size_differs: 'ARTIFACT_MISMATCH',
  artifact_hash_differs: 'ARTIFACT_MISMATCH',
  artifact_unsigned: 'ARTIFACT_MISMATCH',
  plan_drift: 'PLAN_DRIFT',
  packages_broken: 'AGENT_ERROR',
  transaction_interrupted: 'AGENT_ERROR',
  packages_locked: 'AGENT_ERROR',
  package_held: 'AGENT_ERROR',
  release_refused: 'ARTIFACT_MISMATCH',
  agent_failed_before: null,
  space_insufficient: 'AGENT_ERROR',
  storage_failed: 'AGENT_ERROR',
  host_policy: 'COMMAND_REFUSED',
  unfit: null, // the probes that are red have events of their own
  hook_failed: 'AGENT_ERROR',
  repair_differs: 'COMMAND_REFUSED',
  repair_failed: null,
  unsupported_host: 'COMMAND_REFUSED',
  core_service: 'COMMAND_REFUSED',
  evidence_missing: 'AGENT_ERROR',
  reboot_blocked: null,
  reboot_failed: null,
  boot_id_unchanged: null,
  restart_failed: null,
  install_failed: null, // the package manager's own failure is a result, not a refusal
};

describe('each refusal of the executor is exactly one event that names the failed check', () => {
  test.each(EXECUTOR_REFUSALS)('%s', async (failure) => {
    agent.executorSays = (command_id) => ({
      command_id,
      failure,
      check: null,
      result: { status: 'refused', reason: failure },
    });
    deliverInstall();
    await runOnce(agent.start());
    const type = BY_EXECUTOR[failure];
    expect(told()).toEqual(type === null ? [] : [[type, failure]]);
  });

  test('the event names the check that failed inside a refused document', async () => {
    agent.executorSays = (command_id) => ({
      command_id,
      failure: 'command_refused',
      check: 'stale_seq',
      result: { status: 'refused', reason: 'stale_seq' },
    });
    deliverInstall();
    await runOnce(agent.start());
    expect(told()).toEqual([['COMMAND_REFUSED', 'stale_seq']]);
  });

  test('an executor that ends without a result is one event too', async () => {
    deliverInstall();
    await runOnce(agent.start());
    expect(told()).toEqual([['AGENT_ERROR', 'no_result']]);
  });
});

describe('refusals other than commands', () => {
  test('an artifact that differs before the executor gets it (ARTIFACT_MISMATCH)', async () => {
    agent.driver.brings = bytesOf('demo 6.6');
    deliverInstall();
    await runOnce(agent.start());
    expect(told()).toEqual([['ARTIFACT_MISMATCH', 'artifact_mismatch']]);
  });

  test('a state that no trusted key signed, however often it comes (AGENT_ERROR)', async () => {
    agent.server.state = signEnvelope(createKey(1).key, STATE_TYPE, bytesOf({}));
    const runtime = agent.start();
    await runOnce(runtime);
    await runOnce(runtime);
    expect(told()).toEqual([['AGENT_ERROR', 'untrusted_state']]);
  });
});
