import {
  NEXT_WINDOWS_SHOWN,
  POLICY_WINDOW_MIN_MINUTES,
  type PolicyRequest,
} from '@tidegate/protocol/policies-api';
import {
  CLOCK_SKEW_MS,
  nextOccurrences,
  type Occurrence,
  openOccurrence,
  scheduleFault,
} from '../windows/schedule-rules.ts';

/** The end of an open window: nothing begins after `notAfterMs`. */
export interface WindowEnd {
  readonly notAfterMs: number;
  readonly lengthMs: number;
}

export type PolicyWindow =
  | { readonly kind: 'always' }
  | { readonly kind: 'open'; readonly until: WindowEnd; readonly occurrence: Occurrence }
  | { readonly kind: 'closed' };

/** Whether a policy may ask now, and until when what it approves may begin. */
export function windowOf({ windows }: Pick<PolicyRequest, 'windows'>, nowMs: number): PolicyWindow {
  if (windows.length === 0) return { kind: 'always' };
  const occurrence = openOccurrence(windows, nowMs);
  const notAfterMs = (occurrence?.endMs ?? 0) - CLOCK_SKEW_MS;
  if (!occurrence || nowMs >= notAfterMs) return { kind: 'closed' };
  const until = { notAfterMs, lengthMs: occurrence.endMs - occurrence.startMs };
  return { kind: 'open', until, occurrence };
}

/**
 * When a host begins at the latest, so that it is done at the end of the window: as early as its installations usually
 * take, but never before the middle of the window, or a host that was once slow would never be patched again.
 */
export function latestStart({ notAfterMs, lengthMs }: WindowEnd, usualMs: number): number {
  return notAfterMs - Math.min(usualMs, lengthMs / 2);
}

/** The next windows of a policy, in order of their starts. */
export function nextWindows({ windows }: Pick<PolicyRequest, 'windows'>, afterMs: number): Occurrence[] {
  return windows
    .flatMap((schedule) => nextOccurrences(schedule, { afterMs, count: NEXT_WINDOWS_SHOWN }))
    .toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)
    .slice(0, NEXT_WINDOWS_SHOWN);
}

/** What is wrong with one of the windows, as a sentence, and which; null if nothing is. */
export function windowsFault({
  windows,
}: Pick<PolicyRequest, 'windows'>): { path: string; message: string } | null {
  for (const [i, schedule] of windows.entries()) {
    const path = `/windows/${i}`;
    if (schedule.duration_minutes < POLICY_WINDOW_MIN_MINUTES) {
      const message = `must be at least ${POLICY_WINDOW_MIN_MINUTES}: hosts hear of a window when they check in`;
      return { path: `${path}/duration_minutes`, message };
    }
    const message = scheduleFault(schedule);
    if (message !== null) return { path, message };
  }
  return null;
}
