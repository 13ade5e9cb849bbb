import { appendEvent } from '../events/append-event.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import type { MachineId } from '../platform/http/identities.ts';
import type { Platform } from '../platform/platform.ts';
import { endOfToken, type FamilyMaxAgeMs, isPastMaxAge } from './family-age-rules.ts';
import type { PresentedToken } from './refresh-tokens.ts';
import { classOfPresented, isSameRequest, machineOf } from './renewal-facts.ts';
import { decideRenewal, type RenewalFacts, type TokenClass } from './renewal-rules.ts';
import { type Child, grace, rotate } from './rotate-family.ts';
import { type FamilyRow, lockFamily, markFamilyRevoked } from './store.ts';

/** An agent and the machine that it is bound to. */
export interface Binding {
  machineId: string | null;
  status: 'active' | 'revoked' | 'deleted';
}

/** What renewal needs of the agents, whose slice comes after this one. */
export interface AgentDirectory {
  /** Reads the agent and locks its binding until the transaction ends. */
  lockBinding(tx: Tx, args: { engine: Database['engine']; agentId: string }): Promise<Binding | null>;
  /** The same of several agents, without those that another transaction has locked. PostgreSQL only. */
  lockFreeBindings(tx: Tx, agentIds: readonly string[]): Promise<ReadonlyMap<string, Binding>>;
  bindMachine(
    tx: Tx,
    platform: Platform,
    args: { agentId: string; machineId: MachineId; by: 'check-in' | 'renewal' },
  ): Promise<'bound' | 'foreign_machine' | 'conflict'>;
  markAgentRevoked(tx: Tx, args: { agentId: string; atMs: number }): Promise<void>;
  /** The agent's last check-in, with which an operator compares a reuse. */
  lastSeen(tx: Tx, agentId: string): Promise<{ at: string; boot_id: string; address: string | null } | null>;
}

export interface RenewalDeps {
  platform: Platform;
  tagKey: Buffer;
  directory: AgentDirectory;
  familyMaxAgeMs: FamilyMaxAgeMs;
  /** Without it no resync is ever open. */
  resync?: ResyncGate;
}

/** The bounded resync after a restore, which an operator opens (docs/protocol/states.md). */
export interface ResyncGate {
  /** Whether it is open for this family: once per resync, and never if the journal has the family as revoked. */
  isOpenFor(tx: Tx, args: { familyId: string; nowMs: number }): Promise<boolean>;
  /** Uses up the family's one resync. */
  take(tx: Tx, args: { familyId: string; nowMs: number }): Promise<void>;
}

export interface RenewalRequest {
  token: PresentedToken;
  machineId: MachineId | null;
  requestId: string | null;
  /** The sender's address, for the event of a reuse. */
  address?: string | null;
  /** Whether somebody still waits for the answer; absent: yes. */
  isAwaited?: () => boolean;
}

export type RenewalOutcome =
  | { ok: true; agentId: string; familyId: string; refreshToken: string; refreshExpiresAtMs: number }
  | { ok: false; code: 'MACHINE_ID_MISMATCH'; agentId: string; tokenClass: TokenClass }
  | { ok: false; code: 'refresh_token_invalid'; agentId: string | null; why: string };

/**
 * Exchanges a refresh token (E1) in a transaction of its own, which is on disk before this returns. So is a revocation: no 401 is
 * sent for a family that stays alive. Throws DatabaseFault if nothing was changed.
 */
export async function renewTokens(deps: RenewalDeps, request: RenewalRequest): Promise<RenewalOutcome> {
  const nowMs = deps.platform.now();
  return deps.platform.database.transact((tx) => renew(tx, deps, { ...request, nowMs }));
}

export type Renewal = RenewalRequest & { nowMs: number };

async function renew(tx: Tx, deps: RenewalDeps, request: Renewal): Promise<RenewalOutcome> {
  const { platform, directory } = deps;
  const { engine } = platform.database;
  const family = await lockFamily(tx, { engine, familyId: request.token.familyId });
  const agent = family && (await directory.lockBinding(tx, { engine, agentId: family.agent_id }));
  // Row 2: no such family.
  if (!family || !agent) {
    return { ok: false, code: 'refresh_token_invalid', agentId: null, why: 'unknown_token' };
  }
  const token = classOfPresented(family, { ...request, tagKey: deps.tagKey });
  const resyncOpen = token === 'future' && (await isResyncOpen(tx, deps, { family, nowMs: request.nowMs }));
  const verdict = decideRenewal({ ...factsOf(deps, { family, agent, request, token }), resyncOpen });
  const mismatch = { recorded: agent.machineId, tokenClass: token };
  switch (verdict.do) {
    case 'refuse':
      return { ok: false, code: 'refresh_token_invalid', agentId: family.agent_id, why: verdict.why };
    case 'mismatch':
      return recordMismatch(tx, platform, family, request, mismatch);
    case 'revoke':
      return revoke(tx, deps, family, { request, why: verdict.why });
    case 'rotate':
    case 'grace':
    case 'resync':
      break;
  }
  if (verdict.bind && !(await bind(tx, deps, family.agent_id, request.machineId))) {
    return recordMismatch(tx, platform, family, request, mismatch);
  }
  if (verdict.do === 'resync') await deps.resync?.take(tx, { familyId: family.id, nowMs: request.nowMs });
  const child =
    verdict.do === 'grace'
      ? await grace(tx, deps, { family, presented: request, child: verdict.child })
      : await rotate(tx, deps, { family, presented: request, isResync: verdict.do === 'resync' });
  return renewed(family, child, deps.familyMaxAgeMs);
}

/** What decides a renewal, but for the resync. */
export function factsOf(
  { familyMaxAgeMs }: Pick<RenewalDeps, 'familyMaxAgeMs'>,
  renewal: { family: FamilyRow; agent: Binding; request: Renewal; token: TokenClass },
): Omit<RenewalFacts, 'resyncOpen'> {
  const { family, agent, request, token } = renewal;
  return {
    family: family.status,
    machine: machineOf(agent.machineId, request.machineId),
    agent: agent.status,
    isPastMaxAge: isPastMaxAge({ createdAtMs: family.created_at, nowMs: request.nowMs }, familyMaxAgeMs),
    token,
    sameRequest: isSameRequest(family, request.requestId),
  };
}

/** A family whose last known token has expired was not in use at the backup: it cannot resync. */
async function isResyncOpen(
  tx: Tx,
  { resync }: RenewalDeps,
  { family, nowMs }: { family: FamilyRow; nowMs: number },
): Promise<boolean> {
  if (!resync || nowMs >= family.expires_at) return false;
  return resync.isOpenFor(tx, { familyId: family.id, nowMs });
}

/** Final (section 3): the family ends, the event is critical, the agent must enrol again. */
async function revoke(
  tx: Tx,
  { platform, directory }: RenewalDeps,
  family: FamilyRow,
  { request, why }: { request: Renewal; why: string },
): Promise<RenewalOutcome> {
  await markFamilyRevoked(tx, { familyId: family.id, reason: why, atMs: request.nowMs });
  await directory.markAgentRevoked(tx, { agentId: family.agent_id, atMs: request.nowMs });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'REFRESH_TOKEN_REUSE',
    severity: 'critical',
    component: 'agent-credentials',
    agentId: family.agent_id,
    actor: 'agent',
    content: {
      family_id: family.id,
      reason: why,
      presented_seq: request.token.seq,
      current_seq: family.cur_seq,
      // The machine id matches, or this would be a mismatch: only the address distinguishes two copies of a machine.
      machine_id: request.machineId,
      address: request.address ?? null,
      last_seen: await directory.lastSeen(tx, family.agent_id),
    },
  });
  return { ok: false, code: 'refresh_token_invalid', agentId: family.agent_id, why };
}

async function recordMismatch(
  tx: Tx,
  platform: Platform,
  family: FamilyRow,
  request: Renewal,
  { recorded, tokenClass }: { recorded: string | null; tokenClass: TokenClass },
): Promise<RenewalOutcome> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'MACHINE_ID_MISMATCH',
    severity: 'warning',
    component: 'agent-credentials',
    agentId: family.agent_id,
    actor: 'agent',
    content: {
      endpoint: 'renewal',
      recorded_machine_id: recorded,
      reported_machine_id: request.machineId,
      token_class: tokenClass,
    },
  });
  return { ok: false, code: 'MACHINE_ID_MISMATCH', agentId: family.agent_id, tokenClass };
}

/** False when the machine belongs to another agent. */
async function bind(
  tx: Tx,
  { platform, directory }: RenewalDeps,
  agentId: string,
  machineId: MachineId | null,
): Promise<boolean> {
  if (machineId === null) return false;
  return (await directory.bindMachine(tx, platform, { agentId, machineId, by: 'renewal' })) === 'bound';
}

export function renewed(family: FamilyRow, child: Child, maxAgeMs: FamilyMaxAgeMs): RenewalOutcome {
  return {
    ok: true,
    agentId: family.agent_id,
    familyId: family.id,
    refreshToken: child.text,
    refreshExpiresAtMs: endOfToken(
      { createdAtMs: family.created_at, issuedAtMs: child.issuedAtMs },
      maxAgeMs,
    ),
  };
}
