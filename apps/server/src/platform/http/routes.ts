import type { ProblemCode } from '@tidegate/protocol/problems';
import type { FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type {
  AgentAccess,
  AgentCaller,
  AnyoneAccess,
  OperatorAccess,
  OperatorCaller,
  OwnAccess,
  PublicAccess,
} from './access.ts';
import type { RefusalForm } from './refusal.ts';
import type { Input, InputSchema } from './validate.ts';

/**
 * Declares routes, with one method for each kind of caller: who may call decides what the handler gets. A route
 * without an access does not compile, and no handler runs for a request that its guard has not admitted.
 */
export interface Routes {
  public<S extends RouteSchema>(route: Route<S, PublicAccess, NoCaller>): void;
  anyone<S extends RouteSchema>(route: Route<S, AnyoneAccess, { operator: OperatorCaller | null }>): void;
  own<S extends RouteSchema>(route: Route<S, OwnAccess, { credential: OwnCredential }>): void;
  /** Answers only the agent that the path names; for other agents the path does not exist. */
  agent<S extends RouteSchema>(route: Route<S, AgentAccess, { agent: AgentCaller }, AgentPath>): void;
  operator<S extends RouteSchema>(route: Route<S, OperatorAccess, { operator: OperatorCaller }>): void;
  /** A page for browsers: it answers through `reply` and stays out of the OpenAPI document. */
  page<S extends InputSchema>(route: PageRoute<S>): void;
  /** Aborted when the server begins to stop. A stop waits for open requests, so streams end with this. */
  readonly stopping: AbortSignal;
}

/** TypeBox schemas: validation, types and the OpenAPI document follow from them. */
export interface RouteSchema extends InputSchema {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** By status; without one the answer is 204. */
  readonly response?: Readonly<Record<number, TSchema>>;
  /** What the handler refuses with, beside what every route of its kind does (`refusalsOf`). */
  readonly refuses?: readonly ProblemCode[];
  /** Media types of the answer, where it is not JSON. */
  readonly produces?: readonly string[];
  /** For the OpenAPI document: the handler checks them itself. */
  readonly headers?: TSchema;
}

export interface Route<S extends RouteSchema, A, C, Url extends string = string> {
  readonly method: HTTPMethods;
  readonly url: Url;
  readonly access: A;
  /** Largest body in bytes, as sent and after decompression; SMALL_BODY_MAX_BYTES unless set. */
  readonly bodyMaxBytes?: number;
  /** For a body that the handler parses itself, from `request.rawBody`: its schema for the OpenAPI document. */
  readonly rawBody?: TSchema;
  /** The body is JSON whatever media type the client names, or if it names none. */
  readonly isAlwaysJson?: boolean;
  /** For a protocol that refuses in a form of its own. */
  readonly refusalForm?: RefusalForm;
  /** Runs after the guard and before any byte of the body is read. Throws a Refusal. */
  readonly beforeBody?: (context: C & { readonly request: FastifyRequest }) => void | Promise<void>;
  readonly schema: S;
  /** Returns the body of the answer. Its status is the first success in `response` unless `reply.code` sets another. */
  readonly handler: (context: Context<S, C>) => Answer<S>;
}

export type Context<S, C> = C & Input<S> & { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** The credential that the handler of an `own` route checks. */
export interface OwnCredential {
  /** Call it for a credential that this server made: a refusal then does not count against the address. */
  markGenuine(): void;
}

export interface PageRoute<S extends InputSchema> {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly access: PublicAccess;
  readonly schema?: S;
  /** Returns the reply that it has sent. */
  readonly handler: (context: Context<S, NoCaller>) => Promise<unknown>;
}

export type NoCaller = Readonly<Record<never, never>>;
type AgentPath = `/api/v1/agents/:agent_id/${string}`;
type Success = 200 | 201 | 202;
type Answer<S> = [BodyOf<S>] extends [never] ? Promise<void> : Promise<BodyOf<S>>;
type BodyOf<S> = S extends { readonly response: infer R } ? StaticOf<R[keyof R & Success]> : never;
type StaticOf<T> = T extends TSchema ? Static<T> : never;
