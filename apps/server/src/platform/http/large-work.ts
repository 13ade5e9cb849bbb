import type { FastifyRequest } from 'fastify';
import type { RandomBytes } from '../ids.ts';
import { createTurnstile } from '../work-queue.ts';
import type { AgentCaller } from './access.ts';
import { Refusal } from './refusal.ts';

/** Retry-After of a refusal, in seconds: between this and twice this, at random. */
const RETRY_SECONDS = 10;

/** Long work of one kind that hosts ask for: few pieces run at once, and only one per host. */
export interface LargeWork {
  /** Throws the Refusal `unavailable` (503) when the queue is full. Call it before a large body is read. */
  demandRoom(agentId: string): void;
  /** Queues the work and runs it, or throws the same Refusal. */
  admit<T>(agentId: string, work: () => Promise<T>): Promise<T>;
}

export interface LargeWorkOptions {
  /** Name of the work in the refusal, such as `large reports`. */
  what: string;
  /** Most pieces that run at once. */
  running: number;
  /** Most pieces that wait, each with its body in memory; the next one is refused. */
  waiting: number;
  random: RandomBytes;
}

export function createLargeWork(options: LargeWorkOptions): LargeWork {
  const { what, random } = options;
  const hosts = new Set<string>();
  const turnstile = createTurnstile(options.running);
  function demandRoom(agentId: string): void {
    const jitterSeconds = (random(1)[0] ?? 0) % (RETRY_SECONDS + 1);
    const retryAfterSeconds = RETRY_SECONDS + jitterSeconds;
    if (hosts.has(agentId)) {
      const detail = `One of this host's ${what} is still in progress; retry after the time in Retry-After.`;
      throw new Refusal('unavailable', { detail, retryAfterSeconds });
    }
    if (turnstile.waiting() >= options.waiting) {
      const detail = `Too many ${what} at once; retry after the time in Retry-After.`;
      throw new Refusal('unavailable', { detail, retryAfterSeconds });
    }
  }

  return {
    demandRoom,
    async admit(agentId, work) {
      demandRoom(agentId);
      hosts.add(agentId);
      try {
        return await turnstile.pass(work);
      } finally {
        hosts.delete(agentId);
      }
    },
  };
}

/** Refuses a large body before it is read when the queue is full. Sizes are in bytes, as sent. */
export function demandRoomFor(
  work: Pick<LargeWork, 'demandRoom'>,
  { agent, request }: { agent: AgentCaller; request: Pick<FastifyRequest, 'headers'> },
  { plain, compressed = plain }: { plain: number; compressed?: number },
): void {
  const { headers } = request;
  const most = headers['content-encoding'] === undefined ? plain : compressed;
  if (Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= most) return;
  work.demandRoom(agent.agentId);
}
