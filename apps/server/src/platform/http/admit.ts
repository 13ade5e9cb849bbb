import type { FastifyReply, FastifyRequest } from 'fastify';
import type {
  Access,
  AgentAccess,
  AgentCaller,
  AnyoneAccess,
  Caller,
  OperatorAccess,
  OperatorCaller,
  OwnAccess,
  PublicAccess,
} from './access.ts';

/** The guard of each kind of access: checks credential and limit, and returns the caller. Throws a Refusal. */
export interface Guards {
  public(request: FastifyRequest, access: PublicAccess): Promise<void>;
  /** Null: nobody has logged in. */
  anyone(request: FastifyRequest, access: AnyoneAccess): Promise<OperatorCaller | null>;
  own: OwnGuard;
  agent(request: FastifyRequest, access: AgentAccess): Promise<AgentCaller>;
  operator(request: FastifyRequest, access: OperatorAccess): Promise<OperatorCaller>;
}

/** The limit of an address on routes that check their own credential. */
export interface OwnGuard {
  /** Throws a Refusal where the address is over its limit. */
  judge(request: FastifyRequest, access: OwnAccess, reply: FastifyReply): void;
  /** Counts a refused request that had no genuine credential. */
  countRefusal(request: FastifyRequest, access: OwnAccess): void;
}

/** Runs the guard that the access of a route names. Runs before any byte of the body is read. */
export async function admit(
  guards: Guards,
  access: Access,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Caller> {
  switch (access.kind) {
    case 'public':
      await guards.public(request, access);
      return { kind: 'public' };
    case 'anyone':
      return { kind: 'anyone', operator: await guards.anyone(request, access) };
    case 'own':
      guards.own.judge(request, access, reply);
      return { kind: 'own', isGenuine: false };
    case 'agent':
      return { kind: 'agent', agent: await guards.agent(request, access) };
    case 'operator':
      reply.header('cache-control', 'no-store');
      return { kind: 'operator', operator: await guards.operator(request, access) };
  }
}
