import {
  NEXT_WINDOWS_SHOWN,
  POLICY_WINDOW_MIN_MINUTES,
  type WindowAction,
} from '@tidegate/protocol/policies-api';
import {
  CLOCK_SKEW_MS,
  nextOccurrences,
  type Occurrence,
  occurrences,
  openOccurrence,
  scheduleFault,
} from '../windows/schedule-rules.ts';
import { actionsFault, actionsOf, allowsAction, type Windowed } from './window-actions.ts';

const HOUR_MS = 3_600_000;
/** How far back the last opening is looked for, in milliseconds. */
const PAST_MS = 35 * 24 * HOUR_MS;
/** Openings in that time, and more: windows open once a day at most. */
const PAST_MAX = 100;
/** The end of a window that has closed. */
const CLOSED: WindowEnd = { notAfterMs: 0, lengthMs: 0 };

/** The end of an open window: nothing begins after `notAfterMs`. */
export interface WindowEnd {
  readonly notAfterMs: number;
  readonly lengthMs: number;
}

export type PolicyWindow =
  | { readonly kind: 'always' }
  | { readonly kind: 'open'; readonly until: WindowEnd; readonly occurrence: PolicyOpening }
  /** Only hosts that missed `occurrence` may begin. */
  | { readonly kind: 'catch_up'; readonly until: WindowEnd; readonly occurrence: PolicyOpening }
  | { readonly kind: 'closed' };

/** An opening of a window, with what the policy does in it. */
export interface PolicyOpening extends Occurrence {
  readonly actions: WindowAction[];
}

/** Whether a policy may ask for an action now, and until when it may begin. A policy with windows, none of which is for it, never asks. */
export function windowOf(policy: Windowed, action: WindowAction, nowMs: number): PolicyWindow {
  const { windows } = policy;
  if (windows.length === 0) return { kind: 'always' };
  const own = windows.filter((window) => allowsAction(window, action));
  const occurrence = openingAt(policy, own, nowMs);
  const notAfterMs = (occurrence?.endMs ?? 0) - CLOCK_SKEW_MS;
  if (occurrence && nowMs < notAfterMs) {
    const until = { notAfterMs, lengthMs: occurrence.endMs - occurrence.startMs };
    return { kind: 'open', until, occurrence };
  }
  return (action === 'install' ? catchUpOf(policy, own, nowMs) : null) ?? { kind: 'closed' };
}

/** Whether a policy may ask for any host. */
export const isOpen = ({ kind }: PolicyWindow): boolean => kind === 'always' || kind === 'open';

/** Until when the window of a policy lasts in which it may ask now; null: it has no end. */
export function untilOf(window: PolicyWindow): WindowEnd | null {
  if (window.kind === 'always') return null;
  return window.kind === 'closed' ? CLOSED : window.until;
}

/** The last opening whose hosts are still caught up: of several the one for which that lasts longest. */
function catchUpOf(policy: Windowed, windows: Windowed['windows'], nowMs: number): PolicyWindow | null {
  const found = windows.flatMap((window) => {
    const lengthMs = (window.catch_up_hours ?? 0) * HOUR_MS;
    // One that is just ending still lasts as long as clocks may differ.
    const range = { fromMs: nowMs - lengthMs + CLOCK_SKEW_MS, toMs: nowMs, limit: PAST_MAX };
    const last = lengthMs > 0 ? occurrences(window, range).at(-1) : undefined;
    if (!last) return [];
    const occurrence = { ...last, actions: actionsOf(window, policy) };
    const notAfterMs = last.endMs + lengthMs - CLOCK_SKEW_MS;
    return { kind: 'catch_up' as const, until: { notAfterMs, lengthMs }, occurrence };
  });
  return found.toSorted((a, b) => b.until.notAfterMs - a.until.notAfterMs)[0] ?? null;
}

/** The last opening for installing that has closed, within PAST_MS; null: there was none. */
export function lastOpening(policy: Windowed, nowMs: number): PolicyOpening | null {
  const past = policy.windows
    .filter((window) => allowsAction(window, 'install'))
    .flatMap((window) => {
      const range = { fromMs: nowMs - PAST_MS, toMs: nowMs, limit: PAST_MAX };
      const closed = occurrences(window, range).filter(({ endMs }) => endMs <= nowMs + CLOCK_SKEW_MS);
      const last = closed.at(-1);
      return last ? { ...last, actions: actionsOf(window, policy) } : [];
    });
  return past.toSorted((a, b) => b.endMs - a.endMs)[0] ?? null;
}

/**
 * When a host begins at the latest, so that it is done at the end of the window: as early as its installations usually
 * take, but never before the middle of the window, or a host that was once slow would never be patched again.
 */
export function latestStart({ notAfterMs, lengthMs }: WindowEnd, usualMs: number): number {
  return notAfterMs - Math.min(usualMs, lengthMs / 2);
}

function openingAt(policy: Windowed, windows: Windowed['windows'], nowMs: number): PolicyOpening | null {
  const open = openOccurrence(windows, nowMs);
  if (!open) return null;
  const { startMs, endMs, schedule } = open;
  return { startMs, endMs, actions: actionsOf(schedule, policy) };
}

/** Windows that are open, but not for installing. */
export function openBesides(policy: Windowed, nowMs: number): PolicyOpening[] {
  return policy.windows
    .filter((window) => !allowsAction(window, 'install'))
    .flatMap((window) => openingAt(policy, [window], nowMs) ?? []);
}

/** The next windows of a policy, in order of their starts: for one action, or for any. */
export function nextWindows(policy: Windowed, afterMs: number, action?: WindowAction): PolicyOpening[] {
  return policy.windows
    .filter((window) => action === undefined || allowsAction(window, action))
    .flatMap((window) => {
      const actions = actionsOf(window, policy);
      const next = nextOccurrences(window, { afterMs, count: NEXT_WINDOWS_SHOWN });
      return next.map((opening) => ({ ...opening, actions }));
    })
    .toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)
    .slice(0, NEXT_WINDOWS_SHOWN);
}

/** What is wrong with one of the windows, as a sentence, and which; null if nothing is. */
export function windowsFault(policy: Windowed): { path: string; message: string } | null {
  const { windows } = policy;
  for (const [i, schedule] of windows.entries()) {
    const path = `/windows/${i}`;
    if (schedule.duration_minutes < POLICY_WINDOW_MIN_MINUTES) {
      const message = `must be at least ${POLICY_WINDOW_MIN_MINUTES}: hosts hear of a window when they check in`;
      return { path: `${path}/duration_minutes`, message };
    }
    const message = scheduleFault(schedule);
    if (message !== null) return { path, message };
  }
  return actionsFault(policy);
}
