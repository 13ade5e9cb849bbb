import type { FastifyRequest } from 'fastify';
import type { RandomBytes } from '../ids.ts';
import { createTurnstile } from '../work-queue.ts';
import type { AgentCaller } from './access.ts';
import { Refusal } from './refusal.ts';

/** Seconds after which a host that was refused comes back: between this and twice this. */
const RETRY_SECONDS = 10;

/** Work of one kind that hosts ask for and that takes long: few pieces at a time, and one of a host. */
export interface LargeWork {
  /** Throws the Refusal `unavailable` (503) where there is no room now: asked before a large body is read. */
  demandRoom(agentId: string): void;
  /** Runs the work in its turn, or throws the same Refusal. */
  admit<T>(agentId: string, work: () => Promise<T>): Promise<T>;
}

export interface LargeWorkOptions {
  /** What there is too much of, for the refusal: `large reports`. */
  what: string;
  /** Pieces under way at once. */
  running: number;
  /** Pieces that wait for their turn, each with its body; the next one is refused. */
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
      const detail = `Of ${what} one of this host is under way; send the next one when it is over.`;
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

/** Refuses a body that is large already as it is sent, in bytes, before it is read, where there is no room for it. */
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
