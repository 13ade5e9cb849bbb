import { alternatingAddresses, type Observation } from '../agents/clone-rules.ts';
import type { Clock } from '../platform/clock.ts';
import { createCompactCache } from '../platform/compact-cache.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** Time after which an address is learned again, in seconds. */
const REMEMBERED_SECONDS = 86_400;
/** Agents whose latest addresses are kept with their times; past it, the first to arrive are dropped first. */
export const MOVED_MAX = 20_000;
/** Latest addresses kept for each of them. */
const RUNS_MAX = 3;

/** Addresses of check-ins, in memory: after a restart, a clone's next two check-ins restore them. */
export interface Addresses {
  /** For the plain check-in: true if this connection has the agent's last address, or none is known. */
  isUnchanged(agentId: string, socketAddress: string | undefined): boolean;
  /** For the route: records a check-in; returns evidence if two addresses alternate within one interval. */
  record(visit: {
    agentId: string;
    socketAddress: string | undefined;
    seen: Observation;
    intervalSeconds: number;
  }): readonly Observation[] | null;
}

/**
 * Two memories. Every agent has a mark of its last address, in a few bytes; a change leads to the route. Addresses with
 * their times are kept for those that came there lately: a clone that alternates keeps coming, however large the fleet.
 */
export function createAddresses({
  now,
  random,
  lastMaxBytes,
  movedMax = MOVED_MAX,
}: {
  now: Clock;
  random: RandomBytes;
  /** Memory for the last address of each agent, in bytes. */
  lastMaxBytes: number;
  movedMax?: number;
}): Addresses {
  const last = createCompactCache({ valueWords: 2, bytesMax: lastMaxBytes });
  const seed = random(8);
  const seeds = [seed.readUInt32LE(0), seed.readUInt32LE(4)] as const;
  const key = new Uint32Array(4);
  const mark = new Uint32Array(2);
  const moved = new Map<string, readonly Observation[]>();
  /** Kept, as a new iterator would pass all that was deleted since the Map was last rebuilt. */
  let oldest = moved.keys();

  function remember(): void {
    const nowSeconds = Math.floor(now() / 1_000);
    const at = last.claim(key, { nowSeconds, untilSeconds: nowSeconds + REMEMBERED_SECONDS });
    last.words.set(mark, at);
  }

  /** Null for an agent without a known address. Writes `key` and `mark`, for `remember`. */
  function compare(agentId: string, socketAddress: string | undefined): boolean | null {
    readKey(agentId, key);
    markAddress(socketAddress ?? '', { seeds, mark });
    const at = last.find(key, Math.floor(now() / 1_000));
    return at === -1 ? null : last.words[at] === mark[0] && last.words[at + 1] === mark[1];
  }

  function keep(agentId: string, runs: readonly Observation[]): void {
    if (moved.size >= movedMax && !moved.has(agentId)) {
      let first = oldest.next();
      if (first.done) {
        oldest = moved.keys();
        first = oldest.next();
      }
      if (!first.done) moved.delete(first.value);
    }
    moved.set(agentId, runs);
  }

  return {
    isUnchanged(agentId, socketAddress) {
      const isSame = compare(agentId, socketAddress);
      if (isSame === null) remember();
      return isSame ?? true;
    },
    record({ agentId, socketAddress, seen, intervalSeconds }) {
      if (compare(agentId, socketAddress) !== true) remember();
      const runs = moved.get(agentId) ?? [];
      if (runs.at(-1)?.address === seen.address) {
        keep(agentId, [...runs.slice(0, -1), seen]);
        return null;
      }
      keep(agentId, [...runs, seen].slice(-RUNS_MAX));
      return alternatingAddresses(runs, { now: seen, intervalSeconds });
    },
  };
}

/** The agent's UUID as four words, its random end first; any other text as well. */
function readKey(agentId: string, key: Uint32Array): void {
  key.fill(0);
  let digits = 0;
  for (let i = 0; i < agentId.length; i++) {
    const code = agentId.charCodeAt(i);
    if (code === DASH) continue;
    const word = 3 - ((digits >> 3) & 3);
    key[word] = ((key[word] ?? 0) << 4) | ((code & 0xf) + (code > DIGIT_NINE ? 9 : 0));
    digits++;
  }
}

const DASH = 0x2d;
const DIGIT_NINE = 0x39;

/** A seeded mark of an address: nobody who does not know the seeds can look for another address with the same one. */
function markAddress(
  address: string,
  { seeds, mark }: { seeds: readonly [number, number]; mark: Uint32Array },
): void {
  let [high, low] = seeds;
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    high = Math.imul(high ^ code, 0x9e37_79b1);
    low = Math.imul(low ^ code, 0x5f35_6495);
    high ^= low >>> 15;
    low ^= high >>> 13;
  }
  mark[0] = high;
  mark[1] = low;
}
