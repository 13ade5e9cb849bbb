import type { Blackout, BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import { type HostScope, hostsOf } from '../holds/hold-rules.ts';
import { scheduleText, wallTime } from '../policies/schedule-rules.ts';

export const BLACKOUTS = '/api/v1/blackouts';

/** What the form holds; times are those of `<input type="datetime-local">`, in the reader's zone. */
export interface BlackoutForm {
  readonly name: string;
  readonly reason: string;
  readonly scope: HostScope;
  readonly from: string;
  readonly until: string;
}

export function requestOf({ name, reason, scope, from, until }: BlackoutForm): BlackoutRequest {
  return {
    ...{ name: name.trim(), reason: reason.trim(), scope: hostsOf(scope) },
    times: { kind: 'once', starts_at: instantOf(from), ends_at: instantOf(until) },
  };
}

/** RFC 3339, whole seconds. */
function instantOf(local: string): string {
  return `${new Date(local).toISOString().slice(0, 19)}Z`;
}

/** When a blackout withholds, as a sentence part, in the reader's zone unless it has its own. */
export function timesText({ times }: Pick<Blackout, 'times'>, zone: string): string {
  if (times.kind === 'recurring') return scheduleText(times.schedule);
  const text = (at: string) => wallTime(at, zone) ?? at;
  return `from ${text(times.starts_at)} until ${text(times.ends_at)} (${zone})`;
}
