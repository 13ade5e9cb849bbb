import { RATE_LIMIT_HEADER, RATE_REMAINING_HEADER, RATE_RESET_HEADER } from '@tidegate/protocol/headers';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../platform/clock.ts';
import type { LimitClass } from '../platform/http/access.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Budget, Budgets } from './budgets.ts';
import {
  copyOf,
  emptyWindow,
  expire,
  freeAtMs,
  isIdle,
  oldestMs,
  record,
  type Window,
} from './sliding-window.ts';

/** After boot every limit runs at half of its budget for this long (specification, section 8). */
export const STARTUP_PENALTY_MS = 60_000;
/** Keys kept per class. */
const KEYS_MAX_PER_CLASS = 250_000;
/** The same where keys are the ids of verified tokens: only enrolling adds one, about 200 bytes. */
const AGENT_KEYS_MAX = 2_000_000;
const AGENT_CLASSES: ReadonlySet<LimitClass> = new Set(['agent_checkin', 'agent_reports']);
/** Keys checked for idleness per new key: more than one, so that idle keys leave faster than keys arrive. */
const SWEEP_STEP = 4;
const SWEEP_STEP_WHEN_FULL = 64;
/** Retries after the start are spread beyond the penalty, or they would all return when it ends. */
const STARTUP_JITTER_SECONDS = 75;
const JITTER_MAX_SECONDS = 30;

export type Taken =
  | { ok: true; limit: number; remaining: number; resetSeconds: number }
  | { ok: false; limit: number; remaining: 0; resetSeconds: number; retryAfterSeconds: number };

export interface Limiter {
  /** Judges and counts in one synchronous step. A refused request does not count. */
  take(limitClass: LimitClass, key: string): Taken;
  /** The same for all servers together, where the class is counted so. */
  takeForAll(limitClass: LimitClass, key: string): Promise<Taken>;
  /** Judges like `take`, without counting. */
  look(limitClass: LimitClass, key: string): Taken;
  /** The current start-up penalty; `endsAtMs` is on the limiter's clock. */
  penalty(): { active: boolean; endsAtMs: number };
}

export interface LimiterOptions {
  now: Clock;
  bootedAt: number;
  budgets: Pick<Budgets, 'of'>;
  random: RandomBytes;
  /** For every class; tests set it. */
  keysMax?: number;
}

interface Table {
  windows: Map<string, Window>;
  /** Shared by the keys without a place. */
  overflow: Window;
  hand: Iterator<[string, Window]>;
}

/**
 * Exact sliding windows in memory: no key ever has more requests accepted than its limit in ANY window.
 *
 * Keys are bounded per class, so that a flood of addresses cannot crowd out the agents. Dropping idle keys loses
 * nothing. If all are busy, new keys share one window with the budget of one key. A key that later gets its
 * own starts with a copy of the shared window, so its earlier use still counts.
 * A clock that is set back does not stop the windows; time continues from where it was.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { budgets, bootedAt, random } = options;
  const tables = new Map<LimitClass, Table>();
  let latestMs = Number.NEGATIVE_INFINITY;
  let setBackMs = 0;

  function steadyNow(): number {
    let now = options.now() + setBackMs;
    if (now < latestMs) {
      setBackMs += latestMs - now;
      now = latestMs;
    }
    latestMs = now;
    return now;
  }

  function tableOf(limitClass: LimitClass): Table {
    let table = tables.get(limitClass);
    if (!table) {
      const windows = new Map<string, Window>();
      table = { windows, overflow: emptyWindow(), hand: windows.entries() };
      tables.set(limitClass, table);
    }
    return table;
  }

  function judge(limitClass: LimitClass, key: string, counts: boolean): Taken {
    const budget = budgets.of(limitClass);
    if (!budget.enabled) {
      return { ok: true, limit: budget.requests, remaining: budget.requests, resetSeconds: 0 };
    }
    const now = steadyNow();
    const windowMs = budget.windowSeconds * 1_000;
    const keysMax = options.keysMax ?? (AGENT_CLASSES.has(limitClass) ? AGENT_KEYS_MAX : KEYS_MAX_PER_CLASS);
    const window = windowOf(tableOf(limitClass), key, { startMs: now - windowMs, keysMax });
    const penaltyMs = bootedAt + STARTUP_PENALTY_MS - now;
    return judgeWindow(window, { budget, nowMs: now, penaltyMs, random, counts });
  }

  return {
    take: (limitClass, key) => judge(limitClass, key, true),
    takeForAll: async (limitClass, key) => judge(limitClass, key, true),
    look: (limitClass, key) => judge(limitClass, key, false),
    penalty() {
      return {
        active: steadyNow() - bootedAt < STARTUP_PENALTY_MS,
        endsAtMs: bootedAt + STARTUP_PENALTY_MS,
      };
    },
  };
}

interface Judging {
  budget: Budget;
  nowMs: number;
  /** How long the start-up penalty still lasts; it is over at 0. */
  penaltyMs: number;
  random: RandomBytes;
  counts: boolean;
}

/** Whether one more request fits into the window; it is recorded if it does and `counts`. */
export function judgeWindow(window: Window, { budget, nowMs, penaltyMs, random, counts }: Judging): Taken {
  const windowMs = budget.windowSeconds * 1_000;
  const startup = penaltyMs > 0;
  // Reading 8: computed when the request is judged; the stored budget never changes.
  const limit = startup ? Math.max(1, Math.floor(budget.requests / 2)) : budget.requests;
  expire(window, nowMs - windowMs);
  if (window.live < limit) {
    if (counts) record(window, nowMs);
    const resetSeconds = window.live === 0 ? 0 : Math.ceil((oldestMs(window) + windowMs - nowMs) / 1_000);
    return { ok: true, limit, remaining: limit - window.live, resetSeconds };
  }
  let freeAt = freeAtMs(window, { limit, windowMs });
  if (startup && window.live < budget.requests) freeAt = Math.min(freeAt, nowMs + penaltyMs);
  const waitMs = freeAt - nowMs;
  const spread = startup ? STARTUP_JITTER_SECONDS : Math.min(JITTER_MAX_SECONDS, budget.windowSeconds / 4);
  const fraction = random(4).readUInt32BE(0) / 0x1_0000_0000;
  return {
    ...{ ok: false, limit, remaining: 0, resetSeconds: Math.ceil(waitMs / 1_000) },
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000 + fraction * spread)),
  };
}

function windowOf(table: Table, key: string, at: { startMs: number; keysMax: number }): Window {
  const known = table.windows.get(key);
  if (known) return known;
  sweep(table, at.startMs, SWEEP_STEP);
  if (table.windows.size >= at.keysMax) sweep(table, at.startMs, SWEEP_STEP_WHEN_FULL);
  if (table.windows.size >= at.keysMax) return table.overflow;
  expire(table.overflow, at.startMs);
  const window = table.overflow.live > 0 ? copyOf(table.overflow) : emptyWindow();
  table.windows.set(key, window);
  return window;
}

/** Advances the clock hand and drops the idle keys it passes; it wraps around at the end of the table. */
function sweep(table: Table, startMs: number, steps: number): void {
  for (let i = 0; i < steps; i++) {
    const next = table.hand.next();
    if (next.done) {
      table.hand = table.windows.entries();
      return;
    }
    const [key, window] = next.value;
    if (isIdle(window, startMs)) table.windows.delete(key);
  }
}

/**
 * Takes one request from the key's budget, or throws the Refusal `rate_limited` with a jittered Retry-After.
 * With a reply it also sets the budget headers; the check-in passes none, to save their cost.
 */
export function enforceLimit(
  limiter: Pick<Limiter, 'take'>,
  { limitClass, key, reply }: { limitClass: LimitClass; key: string; reply?: FastifyReply },
): void {
  const taken = limiter.take(limitClass, key);
  if (!taken.ok) throw overLimit(taken);
  reply?.headers(limitHeaders(taken));
}

/** The same for all servers together, where the class is counted so. */
export async function enforceForAll(
  limiter: Pick<Limiter, 'takeForAll'>,
  { limitClass, key }: { limitClass: LimitClass; key: string },
): Promise<void> {
  const taken = await limiter.takeForAll(limitClass, key);
  if (!taken.ok) throw overLimit(taken);
}

export function overLimit(taken: Extract<Taken, { ok: false }>): Refusal {
  return new Refusal('rate_limited', {
    detail: 'Too many requests; retry after the time in Retry-After.',
    retryAfterSeconds: taken.retryAfterSeconds,
    headers: limitHeaders(taken),
  });
}

function limitHeaders(taken: Taken): Record<string, string> {
  return {
    [RATE_LIMIT_HEADER]: String(taken.limit),
    [RATE_REMAINING_HEADER]: String(taken.remaining),
    [RATE_RESET_HEADER]: String(taken.resetSeconds),
  };
}
