import type { ApiScope } from '@tidegate/protocol/api-tokens-api';
import type { GroupScope, Hosted } from '../db/group-scope.ts';
import type { AgentId, MachineId, OperatorRole } from './identities.ts';
import type { SecondFactor } from './step-up.ts';
import 'fastify';

/**
 * Who may call a route, and which limit it counts against. Every route declares it: the server does not start with
 * a route that has none.
 */
export type Access =
  /** Null: it takes no body and answers from memory, as the health check does. */
  | { kind: 'public'; limit: LimitClass | null }
  /** Open to anyone, and counted against the operator whose credential it bears, else against its address. */
  | { kind: 'anyone'; limit: LimitClass }
  /**
   * The handler checks its own credential (registration token, refresh token). The limit is that of the address, and
   * is judged before any byte of the body is read. `refusals`: only requests without a genuine credential count, so
   * that the hosts behind one address never pay for each other; the handler says which are genuine.
   */
  | { kind: 'own'; limit: LimitClass; counts: 'requests' | 'refusals' }
  | AgentAccess
  /**
   * `stepUp`: asks for a proof made lately: of a second factor, or of the password where the operator has none;
   * `credentials` asks for both, where what is made outlives the session. `scope`: what an API token needs, null where
   * none may; `scopeNeeded` says what follows where it is not named.
   */
  | {
      kind: 'operator';
      role: OperatorRole;
      limit: LimitClass;
      reach: Reach;
      stepUp?: boolean | 'credentials';
      /** Open also to who has to enrol a second factor first. */
      toEnrol?: boolean;
      scope?: ApiScope | null;
    };

/** `bind`: the call may come from an unbound agent (check-in); `old`: an agent below the minimum version may call. */
export interface AgentAccess {
  readonly kind: 'agent';
  readonly limit: LimitClass;
  readonly bind?: boolean;
  readonly old?: boolean;
}

/** An API token that calls, in place of a session. */
export interface CallerToken {
  readonly id: string;
  /** Null: all that the role may do, but overrides. */
  readonly scopes: readonly ApiScope[] | null;
  readonly expiresAtMs: number;
}

/**
 * What of the fleet a route of operators reaches, for those who are bound to groups of hosts. Each route says it, so
 * that none is added that shows them more.
 */
export type Reach =
  /** No host: the caller itself, say. */
  | 'none'
  /** The whole fleet, or what all hosts share: refused to callers who are bound to groups. */
  | 'fleet'
  /** Hosts of the caller's groups: the handler passes `groups` as `scope` into each of its queries. */
  | 'scope'
  /** The parameter `by` of the path names one; where its host is outside of the caller's groups it is not there. */
  | { readonly of: Hosted; readonly by: string };

/** Rate-limit classes (docs/protocol/limits.md); the budgets are in rate-limits. */
export const LIMIT_CLASSES = [
  'agent_registration',
  'agent_renewal',
  'agent_checkin',
  'agent_reports',
  'admin_operations',
  'approvals',
  'admin_reads',
  'public_access',
  'login',
  'client_errors',
] as const;
export type LimitClass = (typeof LIMIT_CLASSES)[number];

/** What the one read of a request found about its agent, for the check-in to compare with what the agent says. */
export interface AgentFacts {
  readonly agentVersion: string;
  readonly bootId: string | null;
  readonly keySetVersion: number;
  readonly pollingIntervalSeconds: number | null;
  /** Whether commands wait to be delivered or to be acknowledged. */
  readonly hasOpenCommands: boolean;
  /** `{"apt":"…"}`: digest of the stored inventory report of each ecosystem, in the order of ECOSYSTEMS. */
  readonly digests: string;
}

/** The agent behind a request, after token, limit, revocation and machine binding have been checked. */
export interface AgentCaller extends AgentFacts {
  readonly agentId: AgentId;
  readonly familyId: string;
  /** The id that the request bears; equal to the recorded one unless the agent is unbound. */
  readonly machineId: MachineId;
  readonly bound: boolean;
}

export interface OperatorCaller {
  readonly operatorId: string;
  readonly username: string;
  readonly role: OperatorRole;
  /** What it may see of the fleet: passed as `scope` into every query behind a list. */
  readonly groups: GroupScope;
  readonly sessionId: string;
  /** Where the request came from. */
  readonly address: string;
  /** Absent where a person has logged in. */
  readonly token?: CallerToken;
  /** `demandFreshFactor` asks it where a route asks for a fresh one only at times. */
  readonly secondFactor: SecondFactor;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** Largest body in bytes, as sent and after decompression; SMALL_BODY_MAX_BYTES unless set. */
    bodyMaxBytes?: number;
  }
  interface FastifyRequest {
    agentCaller: AgentCaller | null;
    operatorCaller: OperatorCaller | null;
    /** Whether the handler of a route with `own` access found a credential that this server made. */
    isGenuine: boolean;
  }
}
