import {
  BLACKOUT_MAX_DAYS,
  type BlackoutRequest,
  type BlackoutTimes,
} from '@tidegate/protocol/blackouts-api';
import { COMMAND_ACTIONS, type CommandAction } from '@tidegate/protocol/states';
import { hostsInScope, type ScopedHost } from '../agents/host-scope.ts';
import {
  CLOCK_SKEW_MS,
  nextOccurrences,
  type Occurrence,
  openOccurrence,
  scheduleFault,
} from '../windows/schedule-rules.ts';

const DAY_MS = 86_400_000;
/** Blackouts that follow each other without a gap; after so many, a host counts as withheld until the last of them. */
const CHAIN_MAX = 100;

/** A blackout, as far as rules need it. */
export type Blackout = Pick<BlackoutRequest, 'name' | 'scope' | 'times'>;

/** Commands that leave a host as it is; all others wait for the end of a blackout. */
const HARMLESS: readonly CommandAction[] = [
  'scan',
  'plan_update',
  'refresh_keys',
  'set_polling',
  'run_probes',
];
export const CHANGING_ACTIONS = COMMAND_ACTIONS.filter((action) => !HARMLESS.includes(action));

/** What is wrong with the times of a blackout, and where; null if nothing is. */
export function timesFault(times: BlackoutTimes, nowMs: number): { path: string; message: string } | null {
  if (times.kind === 'recurring') {
    const message = scheduleFault(times.schedule);
    return message === null ? null : { path: '/times/schedule', message };
  }
  const [startMs, endMs] = [Date.parse(times.starts_at), Date.parse(times.ends_at)];
  if (endMs <= Math.max(startMs, nowMs)) {
    return { path: '/times/ends_at', message: 'must be after the start, and in the future' };
  }
  if (endMs - Math.max(startMs, nowMs) <= BLACKOUT_MAX_DAYS * DAY_MS) return null;
  return { path: '/times/ends_at', message: `must be at most ${BLACKOUT_MAX_DAYS} days later` };
}

/**
 * The occurrence that withholds at this time. It does so before its start already, for as long as a host whose clock is
 * late would still accept what was signed to end at the start.
 */
export function activeAt(times: BlackoutTimes, atMs: number): Occurrence | null {
  const soonMs = atMs + CLOCK_SKEW_MS;
  if (times.kind === 'recurring') {
    const open = openOccurrence([times.schedule], atMs);
    if (open) return open;
    const [next] = nextAfter(times, { afterMs: atMs, count: 1 });
    return next && next.startMs <= soonMs ? next : null;
  }
  const once = onceOf(times);
  return once.startMs <= soonMs && atMs < once.endMs ? once : null;
}

/** The occurrences that start after this time, in order. */
export function nextAfter(
  times: BlackoutTimes,
  { afterMs, count }: { afterMs: number; count: number },
): Occurrence[] {
  if (times.kind === 'recurring') return nextOccurrences(times.schedule, { afterMs, count });
  const once = onceOf(times);
  return once.startMs > afterMs ? [once] : [];
}

function onceOf({ starts_at, ends_at }: Extract<BlackoutTimes, { kind: 'once' }>): Occurrence {
  return { startMs: Date.parse(starts_at), endMs: Date.parse(ends_at) };
}

/** What blackouts mean for hosts at one time; each blackout is looked at once for all hosts. */
export function createFreezes<B extends Blackout>(blackouts: readonly B[], atMs: number) {
  const known = blackouts.map((blackout) => ({
    ...{ blackout, isIn: hostsInScope(blackout.scope), active: activeAt(blackout.times, atMs) },
    nextMs: nextAfter(blackout.times, { afterMs: atMs, count: 1 })[0]?.startMs ?? Infinity,
  }));

  return {
    /** The blackout in which a host is; of several the one that ends last. Null: it is in none. */
    of(host: ScopedHost): { blackout: B; untilMs: number } | null {
      let found: { blackout: B; untilMs: number } | null = null;
      for (const { blackout, active, isIn } of known) {
        if (!active || !isIn(host) || (found && found.untilMs >= active.endMs)) continue;
        found = { blackout, untilMs: active.endMs };
      }
      return found;
    },
    /** When what is signed now for this host may begin at the latest; Infinity: no blackout comes. */
    notAfterMs(host: ScopedHost): number {
      const starts = known.flatMap(({ nextMs, isIn }) => (isIn(host) ? nextMs : []));
      return Math.min(Infinity, ...starts) - CLOCK_SKEW_MS;
    },
  };
}

/**
 * When a host is in no blackout any more, with those that follow without a gap; `atMs` if it is in none. Hosts of the same
 * blackouts share the answer.
 */
export function createThaws(blackouts: readonly Blackout[], atMs: number): (host: ScopedHost) => number {
  const known = new Map<string, number>();
  const scoped = blackouts.map(({ scope, times }) => ({ times, isIn: hostsInScope(scope) }));
  return (host) => {
    const own = scoped.flatMap(({ times, isIn }, i) => (isIn(host) ? { times, i } : []));
    const key = own.map(({ i }) => i).join();
    const thawMs = known.get(key) ?? endOfChain(own, atMs);
    known.set(key, thawMs);
    return thawMs;
  };
}

function endOfChain(own: readonly Pick<Blackout, 'times'>[], atMs: number): number {
  let endMs = atMs;
  for (let links = 0; links < CHAIN_MAX; links++) {
    const ends = own.flatMap(({ times }) => activeAt(times, endMs)?.endMs ?? []);
    if (ends.length === 0) break;
    endMs = Math.max(...ends);
  }
  return endMs;
}
