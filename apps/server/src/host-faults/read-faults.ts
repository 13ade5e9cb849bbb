import type { HostFaults } from '@tidegate/protocol/host-faults-api';
import { PackageCondition } from '@tidegate/protocol/package-condition';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { isTooOld } from '../agents/guard-rules.ts';
import { isOnline } from '../agents/presence.ts';
import { type AgentRow, findAgent } from '../agents/store.ts';
import { findTimeliness } from '../agents/timeliness-store.ts';
import { listReports } from '../inventory/installed-store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { latestProbes } from '../probes/store.ts';
import { faultsOf, type HostFacts } from './fault-rules.ts';
import { credentialsEnd, lastFailed, otherMachineSince } from './store.ts';

const DAY_MS = 86_400_000;

/** What is wrong with a host now; null: there is no such host. */
export async function readFaults(
  db: Db,
  { agentId, nowMs, minAgentVersion }: { agentId: string; nowMs: number; minAgentVersion: string | null },
): Promise<HostFaults | null> {
  const agent = await findAgent(db, agentId);
  if (agent === null) return null;
  const facts: HostFacts = {
    ...presenceFacts(agent, nowMs),
    isAgentTooOld: isTooOld(agent.agent_version, minAgentVersion),
    credentialsEndedMs: await credentialsEnd(db, { agentId, nowMs }),
    otherMachineSinceMs: await otherMachine(db, agent, nowMs),
    reports: (await listReports(db, agentId)).map(reportFacts),
    redProbesSinceMs: await redSince(db, agentId),
    failed: await lastFailed(db, agentId),
    timeliness: await findTimeliness(db, agentId),
  };
  return {
    as_of: rfc3339(nowMs),
    items: faultsOf(facts, nowMs).map(({ since, commandId, ...fault }) => ({
      ...fault,
      since: since === null ? null : rfc3339(since),
      command_id: commandId ?? null,
    })),
  };
}

function presenceFacts(agent: AgentRow, nowMs: number) {
  return {
    isRevoked: agent.status === 'revoked',
    revokedAtMs: agent.revoked_at,
    isBound: agent.machine_id !== null,
    isOnline: isOnline(agent, nowMs),
    enrolledAtMs: agent.enrolled_at,
    lastSeenMs: agent.last_seen_at,
    cloneSinceMs: agent.clone_since,
    needsReboot: agent.reboot_need === 'needed',
    needsRestarts: agent.services_restart === 'needed',
  };
}

/** A binding that was cleared waits for another machine: what asked before is no fault. */
async function otherMachine(db: Db, agent: AgentRow, nowMs: number): Promise<number | null> {
  if (agent.machine_id === null) return null;
  const heardMs = agent.last_seen_at ?? agent.enrolled_at;
  const sinceMs = isOnline(agent, nowMs) ? nowMs - DAY_MS : heardMs;
  return otherMachineSince(db, { agentId: agent.id, sinceMs: Math.max(sinceMs, agent.bound_at ?? 0) });
}

/** A report that is being written is not complete yet, and no fault. */
function reportFacts({
  ecosystem,
  complete,
  writing,
  condition,
}: {
  ecosystem: string;
  complete: number;
  writing: string | null;
  condition: string | null;
}): HostFacts['reports'][number] {
  const { trouble, repair } =
    condition === null
      ? { trouble: null, repair: undefined }
      : Value.Parse(PackageCondition, JSON.parse(condition));
  return {
    ecosystem: Value.Parse(Ecosystem, ecosystem),
    isComplete: complete === 1 || writing !== null,
    trouble: trouble && { ...trouble, canRepair: repair !== undefined },
  };
}

async function redSince(db: Db, agentId: string): Promise<number | null> {
  const probes = (await latestProbes(db, [agentId])).get(agentId);
  return probes?.state === 'red' ? probes.sinceMs : null;
}
