import type { RegisterRequest } from '@tidegate/protocol/agent-api';
import { hasLiveFamily, type StartedFamily, startFamily } from '../agent-credentials/families.ts';
import type { FamilyMaxAgeMs } from '../agent-credentials/family-age-rules.ts';
import { closeSuspicion, forgetBoots } from '../agents/clone-store.ts';
import { isTooOld } from '../agents/guard-rules.ts';
import { type AgentRow, findAgentOfMachine, insertAgent, lockMachine, reviveAgent } from '../agents/store.ts';
import { changeTags } from '../agents/tag-store.ts';
import { appendEvent } from '../events/append-event.ts';
import { appendOutsiderEvent } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { MachineId } from '../platform/http/identities.ts';
import type { Platform } from '../platform/platform.ts';
import { hashRegistrationSecret } from './registration-secrets.ts';
import { lockUsableToken, type RegistrationTokenRow, takeSeat } from './store.ts';
import { tagsOfToken } from './token-view.ts';

export type RegisterOutcome =
  | { ok: true; agentId: string; family: StartedFamily }
  | { ok: false; code: RegisterFault };

export type RegisterFault =
  | 'registration_token_invalid'
  | 'machine_missing'
  | 'agent_too_old'
  | 'machine_in_another_group'
  | 'machine_already_registered';

export interface Registration {
  secret: string;
  machineId: MachineId | null;
  host: RegisterRequest;
}

/**
 * Enrols a host: agent, seat, family and event in one transaction; a refused registration uses no seat. A
 * machine whose agent is revoked or whose family has expired keeps its agent id and its group. A token of
 * another group is refused, because it must not cross into that agent's group. While the family is live any
 * token is refused: a leaked registration token must not evict a host.
 */
export async function registerAgent(
  {
    platform,
    tagKey,
    familyMaxAgeMs: maxAgeMs,
    minAgentVersion,
  }: {
    platform: Platform;
    tagKey: Buffer;
    familyMaxAgeMs: FamilyMaxAgeMs;
    minAgentVersion: string | null;
  },
  { secret, machineId, host }: Registration,
): Promise<RegisterOutcome> {
  const nowMs = platform.now();
  const secretHash = hashRegistrationSecret(secret);
  if (secretHash === null) return { ok: false, code: 'registration_token_invalid' };
  return platform.database.transact(async (tx) => {
    const token = await lockUsableToken(tx, { secretHash, nowMs });
    if (!token) return { ok: false, code: 'registration_token_invalid' } as const;
    if (machineId === null) return { ok: false, code: 'machine_missing' } as const;
    if (isTooOld(host.agent_version, minAgentVersion)) return { ok: false, code: 'agent_too_old' } as const;
    await lockMachine(tx, { engine: platform.database.engine, machineId });
    const known = await findAgentOfMachine(tx, machineId);
    // First check on the agent: another group's token learns nothing of its credentials.
    if (known && !covers(token, known)) {
      await recordCrossing(tx, platform, { token, known, host });
      return { ok: false, code: 'machine_in_another_group' } as const;
    }
    if (known && (await hasLiveFamily(tx, platform, { agentId: known.id, nowMs, maxAgeMs }))) {
      return { ok: false, code: 'machine_already_registered' } as const;
    }
    if (!(await takeSeat(tx, token))) {
      return { ok: false, code: 'registration_token_invalid' } as const;
    }
    const agentId = known?.id ?? platform.newId();
    const group = known ? known.group_name : token.group_name;
    if (known) {
      await reviveAgent(tx, { agentId, set: { ...described(host), group_name: group, enrolled_at: nowMs } });
      // Revokes the credentials of any former holder of the identity.
      await closeSuspicion(tx, { agentId, atMs: nowMs });
      await forgetBoots(tx, { agentId, but: null });
    } else
      await insertAgent(tx, {
        ...{ ...newAgent(nowMs), ...described(host) },
        ...{ id: agentId, machine_id: machineId, group_name: group },
      });
    // As its group, a known host keeps its tags: a token must not take it out of a hold or into a policy.
    const tags = known ? [] : tagsOfToken(token);
    await changeTags(tx, { agentId, set: tags, remove: [], by: token.created_by, atMs: nowMs });
    const family = await startFamily(tx, platform, { agentId, tagKey, nowMs, maxAgeMs });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'AGENT_ENROLLED',
      severity: 'info',
      component: 'enrolment',
      agentId,
      actor: 'agent',
      content: {
        hostname: host.hostname,
        machine_id: machineId,
        group,
        tags,
        registration_token_id: token.id,
        again: known !== null,
      },
    });
    return { ok: true, agentId, family } as const;
  });
}

/** A token without a group needs an operator of the whole fleet and covers all hosts, others their group. */
function covers(token: RegistrationTokenRow, known: AgentRow): boolean {
  return token.group_name === null || token.group_name === known.group_name;
}

async function recordCrossing(
  tx: Tx,
  platform: Platform,
  { token, known, host }: { token: RegistrationTokenRow; known: AgentRow; host: RegisterRequest },
): Promise<void> {
  await appendOutsiderEvent(tx, platform, {
    kind: 'refused_enrolments',
    subject: { key: `token:${token.id}` },
    event: {
      kind: 'security',
      type: 'ENROLMENT_REFUSED',
      severity: 'warning',
      component: 'enrolment',
      agentId: known.id,
      actor: 'agent',
      content: {
        ...{ reason: 'machine_in_another_group', hostname: host.hostname, machine_id: known.machine_id },
        ...{ host_group: known.group_name, token_group: token.group_name },
        registration_token_id: token.id,
      },
    },
  });
}

function described(host: RegisterRequest) {
  return {
    hostname: host.hostname,
    os_family: host.os.family,
    os_id: host.os.id,
    os_version_id: host.os.version_id,
    os_arch: host.os.arch,
    agent_version: host.agent_version,
  };
}

/** Initial values of an agent; enrolment binds it to the machine that it names. */
function newAgent(nowMs: number) {
  return {
    status: 'active',
    boot_id: null,
    uptime_seconds: null,
    key_set_version: 0,
    next_seq: 1,
    polling_interval_seconds: null,
    inventory_digests: '{}',
    enrolled_at: nowMs,
    bound_at: nowMs,
    revoked_at: null,
    deleted_at: null,
  } as const satisfies Partial<AgentRow>;
}
