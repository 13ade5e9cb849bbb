import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { findMismatch } from '../../commands/install-update.ts';
import {
  judgeByHost,
  judgeRebootByHost,
  judgeRepairByHost,
  judgeRestartByHost,
  loadHostPolicy,
  stateMaxAgeMinutes,
} from '../../host-policy/policy.ts';
import type { PolicyVerdict } from '../../host-policy/policy-rules.ts';
import { type ExecutorState, loadExecutorState } from '../../jobs/executor-state.ts';
import { openJournal } from '../../journal/journal.ts';
import { trustedNow } from '../../platform/clock.ts';
import { judgeByState, type Permission, permissionOf, verifyAgentState } from '../../trust/agent-state.ts';
import { acceptKeySet } from '../../trust/trusted-keys.ts';
import { verifyApproval } from '../../trust/verify-approval.ts';
import { verifyCommand } from '../../trust/verify-command.ts';
import { NOW_MS } from '../fleet.ts';
import { createJobWorld, type JobWorld } from '../job-world.ts';
import { BOOT_ID } from '../stand-in-host.ts';
import type { Attack } from './attack.ts';

/** More than any document may have. */
const READ_MAX_BYTES = 8 * 1024 * 1024;

/** What became of an attack on a host of its own. */
export interface AttackReport {
  agent: string;
  executor: string;
  installs: number;
  repairs: number;
  /** What was done to the running host. */
  calls: string[];
  /** What is left in the stage. */
  staged: number;
  /** Whether the keys that the executor trusts, and what it remembers of commands and time, are what they were. */
  trust: 'unchanged' | 'changed';
  memory: 'unchanged' | 'changed';
}

/** What must become of it: refused by both under the names of its row, nothing installed, nothing left behind. */
export function defeatOf({ agent, executor, learns, calls = [] }: Attack): AttackReport {
  return {
    agent,
    executor,
    installs: 0,
    repairs: 0,
    calls: [...calls],
    staged: 0,
    trust: learns === 'keys' ? 'changed' : 'unchanged',
    memory: learns === 'accepted' || learns === 'time' ? 'changed' : 'unchanged',
  };
}

export async function runAttack(attack: Attack): Promise<AttackReport> {
  const world = createJobWorld();
  try {
    return await runIn(world, attack);
  } finally {
    world[Symbol.dispose]();
  }
}

async function runIn(world: JobWorld, attack: Attack): Promise<AttackReport> {
  await attack.before?.(world);
  const job = world.leaveJob(attack.parts?.(world));
  attack.spoil?.(job, world);
  const options = attack.options?.(world) ?? {};
  const [trust, memory] = [trustOf(world), memoryOf(world)];
  const agent = judgeAsAgent(world, job, options.nowMs?.() ?? NOW_MS);
  const outcome = await world.execute(job, options);
  return {
    agent,
    executor: outcome.ok ? describe(outcome.result) : outcome.detail.replace(basename(job), 'ID'),
    installs: world.installs.length,
    repairs: world.repairs.length,
    calls: world.host.calls(),
    staged: readdirSync(join(world.stateFolder, 'stage')).length,
    trust: trustOf(world) === trust ? 'unchanged' : 'changed',
    memory: memoryOf(world) === memory ? 'unchanged' : 'changed',
  };
}

/** Both results and refusals by their names, so that no test depends on wording. */
function describe({
  failure,
  check,
  result,
}: {
  failure: string | null;
  check: string | null;
  result: object;
}) {
  if (failure === null) return 'status' in result ? String(result.status) : '';
  return check === null ? failure : `${failure} ${check}`;
}

/** All of the executor's state but the time that it was shown. */
function trustOf(world: JobWorld): string {
  const { newest_state: _, ...trust } = stateOf(world);
  return JSON.stringify(trust);
}

function memoryOf(world: JobWorld): string {
  return `${remembered(world, 'journal.json')} ${stateOf(world).newest_state}`;
}

function stateOf({ stateFolder }: JobWorld): ExecutorState {
  const loaded = loadExecutorState(stateFolder);
  if (!loaded.ok) throw new Error('the executor has lost its state');
  return loaded.state;
}

function remembered({ stateFolder }: JobWorld, name: string): string {
  return readdirSync(stateFolder).includes(name) ? readFileSync(join(stateFolder, name), 'utf8') : '';
}

/** The checks of the agent in their order, on the same bytes, by what this host has accepted and learned so far. */
function judgeAsAgent(world: JobWorld, job: string, localMs: number): string {
  const { fleet, policy, stateFolder } = world;
  const loaded = loadExecutorState(stateFolder);
  const opened = openJournal(stateFolder, { nowMs: localMs });
  if (!loaded.ok || !opened.ok) throw new Error('the executor has lost its state');
  const { journal } = opened;
  const pinned = loaded.state.trusted_keys;
  const time = () => trustedNow(localMs, journal.serverTime());
  const keySet = { envelope: readJson(job, 'key-set.json'), roots: [], nowMs: time() };
  const accepted = acceptKeySet(pinned, keySet);
  const trusted = accepted.ok ? accepted.keys : pinned;
  const shown = { trusted, agentId: fleet.agentId, nowMs: time() };
  const state = verifyAgentState(readJson(job, 'state.json'), shown);
  const nowMs = trustedNow(time(), state.ok ? state.state.server_time : null);
  const bytes = read(job, 'command.json');
  if (bytes === null) return 'ok';
  const command = verifyCommand(bytes, {
    trusted,
    agentId: fleet.agentId,
    machineSha256: fleet.machineSha256,
    highest: journal.highest(),
    nowMs,
    seen: journal.isKnown,
    strict: true,
  });
  if (!command.ok) return `command ${command.reason}`;
  const judgeByServer = (permission: Permission) => {
    if (!state.ok) return `state ${state.reason}`;
    const stale = judgeByState(state.state, {
      permission,
      epoch: Math.max(command.command.epoch, journal.highest().epoch),
      keySetVersion: trusted.version,
      newestShown: loaded.state.newest_state ?? null,
      maxAgeMinutes: stateMaxAgeMinutes(loadHostPolicy(policy)),
      nowMs,
    });
    return stale === null ? null : `state ${stale}`;
  };
  const said = (verdict: PolicyVerdict) => (verdict.ok ? null : `host_policy ${verdict.check}`);
  if (command.command.action === 'repair') {
    const { params: repair } = command.command;
    const host = judgeRepairByHost(loadHostPolicy(policy), { repair, nowMs });
    return judgeByServer(permissionOf(command.command, null)) ?? said(host) ?? 'ok';
  }
  if (command.command.action === 'reboot') {
    if (command.command.params.boot_id !== BOOT_ID) return 'already_rebooted';
    const host = judgeRebootByHost(loadHostPolicy(policy), { nowMs });
    return judgeByServer(permissionOf(command.command, null)) ?? said(host) ?? 'ok';
  }
  if (command.command.action === 'restart_services') {
    const host = judgeRestartByHost(loadHostPolicy(policy), { nowMs });
    return judgeByServer(permissionOf(command.command, null)) ?? said(host) ?? 'ok';
  }
  if (command.command.action !== 'install_update') return 'ok';
  if (command.command.approval === undefined) return 'approval_missing';
  const approval = verifyApproval(readJson(job, 'approval.json'), {
    trusted,
    agentId: fleet.agentId,
    updateIds: command.command.params.update_ids,
    reference: command.command.approval,
    nowMs,
  });
  if (!approval.ok) return `approval ${approval.reason}`;
  const { payload } = approval.approval;
  const host = judgeByHost(loadHostPolicy(policy), { approval: approval.approval, trusted, nowMs });
  const refusal = judgeByServer(permissionOf(command.command, approval.approval)) ?? said(host);
  if (refusal !== null) return refusal;
  const artifacts = join(job, 'artifacts');
  return findMismatch(payload, artifacts) === null ? 'ok' : 'artifact_mismatch';
}

/** Null where the file is none any more: what then happens is for the executor alone, as the agent wrote it. */
function read(job: string, name: string): Uint8Array | null {
  const stat = lstatSync(join(job, name), { throwIfNoEntry: false });
  if (!stat?.isFile()) return null;
  return stat.size > READ_MAX_BYTES ? new Uint8Array(READ_MAX_BYTES) : readFileSync(join(job, name));
}

function readJson(job: string, name: string): unknown {
  const bytes = read(job, name);
  const parsed = bytes === null ? null : parseStrictJson(bytes);
  return parsed?.ok ? parsed.value : null;
}
