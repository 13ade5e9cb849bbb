import { CLOCK_DOUBT_MS, LISTS_MAX_AGE_MS, type TimelinessReport } from '@tidegate/protocol/timeliness';
import { CLOCK_SKEW_MS } from '../platform/clock.ts';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { Inventory } from './inventory.ts';

/** A report that would say the same is sent again after this time: clocks drift, and a restored server may have lost it. */
const RESEND_MS = 24 * 3_600_000;
/** How long a server that refused a report is asked for nothing: it may be a newer one by then. */
export const REFUSED_MS = 3_600_000;
/** What two signed times show of a clock that nobody set: a state is up to ten seconds old, and travels. */
const NOISE_MS = 15_000;

/** What the server would judge differently if it changed. */
interface Mark {
  lists: string;
  aheadMs: number;
}

/** Decides when the server should hear how old this host's lists are and what its clock shows. */
export interface Timeliness {
  /** Compares the clock with a signed server time that has just arrived. */
  heard(serverTime: string): void;
  /** Null where nothing is to be sent; otherwise what makes the report, which is done when the request goes out. */
  unsent(): { report: () => TimelinessReport; sent: () => void } | null;
  /** The server refuses such reports, as older ones do. True the first time, and again after one that was taken. */
  refused(): boolean;
}

export function watchTimeliness(host: {
  inventory: Pick<Inventory, 'listAges'>;
  /** The clock as it is, which may be wrong. */
  localMs: () => number;
  elapsedMs: () => number;
}): Timeliness {
  const { inventory, localMs, elapsedMs } = host;
  let aheadMs = 0;
  let last: { mark: Mark; atMs: number } | null = null;
  let refusedAtMs: number | null = null;
  return {
    heard: (serverTime) => {
      aheadMs = localMs() - Date.parse(serverTime);
    },
    unsent: () => {
      const ages = inventory.listAges();
      const isRefused = refusedAtMs !== null && elapsedMs() - refusedAtMs < REFUSED_MS;
      if (isRefused || ages === null) return null;
      const judged = Object.entries(ages).map(([name, age]) => [name, age * 1_000 > LISTS_MAX_AGE_MS]);
      const mark = { lists: JSON.stringify(judged), aheadMs };
      const isNew = last === null || differ(last.mark, mark) || elapsedMs() - last.atMs >= RESEND_MS;
      if (!isNew) return null;
      return {
        report: () => ({ clock: new Date(localMs()).toISOString(), lists: ages }),
        sent: () => {
          last = { mark, atMs: elapsedMs() };
          refusedAtMs = null;
        },
      };
    },
    refused: () => {
      const isNew = refusedAtMs === null;
      refusedAtMs = elapsedMs();
      return isNew;
    },
  };
}

/** A clock at a bound must not make a report of each check-in. */
function differ(a: Mark, b: Mark): boolean {
  const isMoved = Math.abs(a.aheadMs - b.aheadMs) > NOISE_MS;
  return a.lists !== b.lists || (isMoved && judge(a.aheadMs) !== judge(b.aheadMs));
}

function judge(aheadMs: number): number {
  const apartMs = Math.abs(aheadMs);
  return Math.sign(aheadMs) * (Number(apartMs > CLOCK_DOUBT_MS) + Number(apartMs > CLOCK_SKEW_MS));
}

/** Reports them where the server should know. Null when nothing is left to send. */
export async function sendTimeliness(
  parts: AgentSession & { timeliness: Timeliness; log: Log },
): Promise<Failure | null> {
  const { timeliness, log } = parts;
  const unsent = timeliness.unsent();
  if (unsent === null) return null;
  const answer = await callAgent(parts, { method: 'PUT', path: '/timeliness', body: unsent.report });
  if (answer.ok) {
    unsent.sent();
    return null;
  }
  const { failure } = answer;
  if (failure.kind !== 'rejected') return failure;
  if (timeliness.refused()) {
    log.info('the server takes no report of lists and clock; it is asked again now and then', {
      status: failure.status,
    });
  }
  return null;
}
