import type { IncomingMessage } from 'node:http';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { AccessTokens } from '../agent-credentials/access-tokens.ts';
import { bearerToken } from '../agent-credentials/bearer.ts';
import type { Config } from '../config.ts';
import type { AgentAccess, AgentCaller } from '../platform/http/access.ts';
import { type AgentId, isMachineId, type MachineId } from '../platform/http/identities.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type Limiter, overLimit } from '../rate-limits/limiter.ts';
import { judgeCaller } from './guard-rules.ts';
import type { CallerReader } from './read-callers.ts';

export interface AgentDoorDeps {
  config: Pick<Config, 'minAgentVersion'>;
  limiter: Pick<Limiter, 'take'>;
  accessTokens: Pick<AccessTokens, 'verify'>;
  readCaller: CallerReader;
}

/** What a route requires: its access, and the `{agent_id}` of its path, or null without one. */
export interface Asked {
  access: AgentAccess;
  pathAgentId: string | null;
}

export type Entry =
  | { kind: 'admitted'; caller: AgentCaller }
  | { kind: 'refused'; refusal: Refusal }
  /** Section 6: refused, and an event; `reported` is null when the request names no machine. */
  | { kind: 'mismatch'; agentId: AgentId; recorded: string | null; reported: MachineId | null };

export interface AgentDoor {
  /**
   * Checks a request: token, limit, revocation, machine, path, version (section 5). A request is checked and counted once,
   * however often this is called. Rejects when the database cannot be read.
   */
  enter(request: IncomingMessage, asked: Asked): Promise<Entry>;
}

/** A request has its entry with itself: a WeakMap keeps many of both until a whole collection of the heap (decision 0135). */
const ENTRY = Symbol('entry');
type Entering = IncomingMessage & { [ENTRY]?: Promise<Entry> };

/** The only entrance for agents. The limit comes before the database, so that a clone is bounded. */
export function createAgentDoor({ config, limiter, accessTokens, readCaller }: AgentDoorDeps): AgentDoor {
  async function judge({ headers }: IncomingMessage, { access, pathAgentId }: Asked): Promise<Entry> {
    const token = bearerToken(headers.authorization);
    if (token === null) return refused('unauthenticated', 'An access token is required.');
    const known = accessTokens.verify(token);
    const verified = known instanceof Promise ? await known : known;
    if (!verified.ok) return refusedToken(verified.code);
    const { agentId, familyId } = verified;
    const taken = limiter.take(access.limit, agentId);
    if (!taken.ok) return { kind: 'refused', refusal: overLimit(taken) };
    const row = await readCaller({ agentId, familyId });
    if (!row) return refusedToken('access_token_invalid');
    const header = headers[MACHINE_ID_HEADER];
    const machineId = isMachineId(header) ? header : null;
    const verdict = judgeCaller({
      agent: row.agentStatus,
      familyActive: row.familyActive,
      recordedMachineId: row.machineId,
      presentedMachineId: machineId,
      agentId,
      pathAgentId,
      agentVersion: row.agentVersion,
      minAgentVersion: config.minAgentVersion,
      route: { bind: access.bind === true, old: access.old === true },
    });
    if (verdict === 'gone') return refusedToken('access_token_invalid');
    if (verdict === 'mismatch' || machineId === null) {
      return { kind: 'mismatch', agentId, recorded: row.machineId, reported: machineId };
    }
    switch (verdict) {
      case 'unbound':
        return refused('binding_pending', 'The agent is not bound to a machine; its next check-in binds it.');
      case 'foreign':
        return refused('not_found', 'There is nothing at this path for this agent.');
      case 'too_old':
        return refused('agent_too_old', 'This version of the agent must be updated first.');
      case 'pass':
        return {
          kind: 'admitted',
          caller: { ...row, agentId, familyId, machineId, bound: row.machineId !== null },
        };
    }
  }

  return {
    enter(request: Entering, asked) {
      request[ENTRY] ??= judge(request, asked);
      return request[ENTRY];
    },
  };
}

function refused(code: ConstructorParameters<typeof Refusal>[0], detail: string): Entry {
  return { kind: 'refused', refusal: new Refusal(code, { detail }) };
}

function refusedToken(code: 'access_token_invalid' | 'access_token_expired'): Entry {
  const isExpired = code === 'access_token_expired';
  return refused(code, isExpired ? 'The access token has expired.' : 'The access token is not valid.');
}
