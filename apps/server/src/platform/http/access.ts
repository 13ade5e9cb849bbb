import type { ApiScope } from '@tidegate/protocol/api-tokens-api';
import type { GroupScope, Hosted } from '../db/group-scope.ts';
import type { AgentId, MachineId, OperatorRole } from './identities.ts';
import type { SecondFactor } from './step-up.ts';
import 'fastify';

/**
 * Who may call a route, and which rate limit it counts against. A route gets its access from the builder that declares
 * it (`Routes`); the server refuses to start with a route that has none.
 */
export type Access =
  | ({ readonly kind: 'public' } & PublicAccess)
  | ({ readonly kind: 'anyone' } & AnyoneAccess)
  | ({ readonly kind: 'own' } & OwnAccess)
  | ({ readonly kind: 'agent' } & AgentAccess)
  | ({ readonly kind: 'operator' } & OperatorAccess);

/** Open to everybody. */
export interface PublicAccess {
  /** Null only for a route that takes no body and answers from memory, such as the health check. */
  readonly limit: LimitClass | null;
}

/** Open to everybody; a logged-in operator has a budget of its own, other callers share that of their address. */
export interface AnyoneAccess {
  readonly limit: LimitClass;
}

/** The handler checks a credential of its own kind: a registration token, or a refresh token. */
export interface OwnAccess {
  /** Counted by address, and checked before any byte of the body is read. */
  readonly limit: LimitClass;
  /**
   * `refusals`: only requests without a genuine credential count, so that hosts behind one address never use up each
   * other's budget. The handler marks the genuine ones.
   */
  readonly counts: 'requests' | 'refusals';
  readonly credential: 'registration token' | 'refresh token' | 'token of FleetLock' | 'token of metrics';
}

/** The agent that the path names. */
export interface AgentAccess {
  readonly limit: LimitClass;
  /** An agent that is not bound to a machine yet may call (check-in). */
  readonly bind?: boolean;
  /** An agent below the minimum version may call. */
  readonly old?: boolean;
}

/** A person with a session, or an API token. */
export interface OperatorAccess {
  /** The lowest role that may call. */
  readonly role: OperatorRole;
  readonly limit: LimitClass;
  readonly reach: Reach;
  /**
   * Demands a recent proof of a second factor, or of the password where the operator has no factor. `credentials`
   * demands both: for what outlives the session.
   */
  readonly stepUp?: boolean | 'credentials';
  /** Open to operators who still have to enrol a second factor. */
  readonly toEnrol?: boolean;
  /** The scope that an API token needs; null refuses tokens. Without it `scopeNeeded` derives the scope. */
  readonly scope?: ApiScope | null;
}

/** The API token of a call that has no session. */
export interface CallerToken {
  readonly id: string;
  /** Null: everything that the role may do, except overrides. */
  readonly scopes: readonly ApiScope[] | null;
  readonly expiresAtMs: number;
}

/**
 * Which hosts a route of operators reaches. Every route declares it, so that no new route shows more to operators who
 * are bound to groups of hosts.
 */
export type Reach =
  /** No host, for example only the caller's own account. */
  | 'none'
  /** The whole fleet, or data that all hosts share: refused to callers who are bound to groups. */
  | 'fleet'
  /** The hosts of the caller's groups: the handler passes `groups` as `scope` into each of its queries. */
  | 'scope'
  /** The resource that the path parameter `by` names: not found where its host is outside the caller's groups. */
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
  'fleet_lock',
] as const;
export type LimitClass = (typeof LIMIT_CLASSES)[number];

/** What the guard's read found about the agent; the check-in compares it with what the agent reports. */
export interface AgentFacts {
  readonly agentVersion: string;
  readonly bootId: string | null;
  readonly keySetVersion: number;
  readonly pollingIntervalSeconds: number | null;
  /** Whether commands wait for delivery or acknowledgement. */
  readonly hasOpenCommands: boolean;
  /** `{"apt":"…"}`: digest of the stored inventory report of each ecosystem, in the order of ECOSYSTEMS. */
  readonly digests: string;
}

/** An agent whose token, limit, revocation, machine binding and version have been checked. */
export interface AgentCaller extends AgentFacts {
  readonly agentId: AgentId;
  readonly familyId: string;
  /** The machine id in the request; equal to the recorded one unless the agent is unbound. */
  readonly machineId: MachineId;
  readonly bound: boolean;
}

/** An operator whose credential, limit, role, scope and reach have been checked. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly username: string;
  readonly role: OperatorRole;
  /** The groups of hosts that the operator may see; null: all. Passed as `scope` into every query behind a list. */
  readonly groups: GroupScope;
  readonly sessionId: string;
  /** Network address of the request. */
  readonly address: string;
  /** Absent where a person has logged in. */
  readonly token?: CallerToken;
  /** For `demandFreshFactor`, where a route demands a recent proof only for some requests. */
  readonly secondFactor: SecondFactor;
}

/** Whom the guard of a route has admitted; only `routes.ts` reads it, and hands the handler its typed part. */
export type Caller =
  | { readonly kind: 'public' }
  | { readonly kind: 'anyone'; readonly operator: OperatorCaller | null }
  | { readonly kind: 'own'; isGenuine: boolean }
  | { readonly kind: 'agent'; readonly agent: AgentCaller }
  | { readonly kind: 'operator'; readonly operator: OperatorCaller };

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** Largest body in bytes, as sent and after decompression; SMALL_BODY_MAX_BYTES unless set. */
    bodyMaxBytes?: number;
  }
  interface FastifyRequest {
    /** Null until the guard of the route has admitted the request. */
    caller: Caller | null;
  }
}
