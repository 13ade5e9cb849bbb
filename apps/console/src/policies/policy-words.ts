import type { Policy, PolicyScope, PolicyTerms } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { counted, listed, REASONS } from '../updates/update-words.ts';

/** The hosts of a policy. */
export function scopeText(scope: PolicyScope): string {
  if (scope.kind === 'all') return 'All hosts';
  const { groups, hosts } = scope;
  return [
    ...(groups.length > 0 ? [`${groups.length === 1 ? 'Group' : 'Groups'} ${groups.join(', ')}`] : []),
    ...(hosts.length > 0 ? [counted(hosts.length, 'host')] : []),
  ].join(' and ');
}

/** What an update has to meet, each condition as a line. */
export function termLines(terms: PolicyTerms): string[] {
  const all = terms.packages.includes('*');
  return [
    `Ecosystems: ${terms.ecosystems.join(', ')}`,
    all ? 'Every package' : `Packages: ${terms.packages.join(', ')}`,
    ...(terms.except_packages.length > 0 ? [`Except: ${terms.except_packages.join(', ')}`] : []),
    ...(terms.origins.length > 0 ? [`Origins: ${terms.origins.join(', ')}`] : []),
    ...(terms.security_only ? ['Only security updates, and what fixes a known vulnerability'] : []),
    ...(terms.minimum_severity === null
      ? []
      : [`Only what fixes a known vulnerability of severity ${terms.minimum_severity} or higher`]),
    ...(terms.max_change === 'any' ? [] : [`npm and PyPI: at most a ${terms.max_change} change`]),
    ...(terms.min_age_hours === null
      ? []
      : [`Every new version at least ${counted(terms.min_age_hours, 'hour')} old`]),
    terms.remaining_vulnerabilities === 'approve'
      ? 'Also where other known vulnerabilities stay on the host'
      : 'Not where other known vulnerabilities stay on the host',
  ];
}

const DAYS = {
  ...{ MO: 'Monday', TU: 'Tuesday', WE: 'Wednesday', TH: 'Thursday' },
  ...{ FR: 'Friday', SA: 'Saturday', SU: 'Sunday' },
} as const;
const ORDINALS = {
  ...{ 1: 'first', 2: 'second', 3: 'third', 4: 'fourth', 5: 'fifth' },
  ...{ '-1': 'last', '-2': 'second to last' },
} as const;

/** When a window opens, as a sentence part; rules that people rarely write are shown as they are. */
export function scheduleText({ rrule, starts_on, start, zone, duration_minutes }: Schedule): string {
  const on = rrule === null ? `on ${starts_on}` : recurrenceText(rrule);
  return `${on} at ${start} (${zone}) for ${durationText(duration_minutes)}`;
}

function recurrenceText(rrule: string): string {
  if (rrule === 'FREQ=DAILY') return 'every day';
  const weekly = /^FREQ=WEEKLY;BYDAY=([A-Z,]+)$/.exec(rrule);
  if (weekly?.[1]) {
    const days = weekly[1].split(',').map(dayName);
    return `every ${listed(days)}`;
  }
  const monthly = /^FREQ=MONTHLY;BYDAY=(-?[1-5])([A-Z]{2})$/.exec(rrule);
  const ordinal = monthly?.[1] && (Object.entries(ORDINALS).find(([key]) => key === monthly[1])?.[1] ?? null);
  if (ordinal && monthly[2]) return `on the ${ordinal} ${dayName(monthly[2])} of each month`;
  return `by the rule ${rrule}`;
}

function dayName(day: string): string {
  return Object.entries(DAYS).find(([key]) => key === day)?.[1] ?? day;
}

export function durationText(minutes: number): string {
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  const parts = [
    ...(hours > 0 ? [counted(hours, 'hour')] : []),
    ...(rest > 0 ? [counted(rest, 'minute')] : []),
  ];
  return parts.join(' ');
}

/** A time in a zone, such as `Tue, 8 Dec 2026, 22:00`. */
export function zonedTime(at: string, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZone },
  }).format(new Date(at));
}

/** What the last run did. */
export function runText(run: NonNullable<Policy['last_run']>): string {
  const { approved, awaiting_plan: waiting, stopped } = run;
  if (approved + waiting + stopped === 0) return 'nothing to approve';
  return [
    `${approved.toLocaleString('en')} approved`,
    ...(waiting > 0 ? [`${waiting.toLocaleString('en')} wait for a plan`] : []),
    ...(stopped > 0 ? [`${stopped.toLocaleString('en')} left to people`] : []),
  ].join(', ');
}

/** Why a policy leaves an update, beside what the gate says. */
const LEFT: Readonly<Record<string, string>> = {
  ...REASONS,
  taken_back: 'A person has taken its approval back.',
  other_version: 'Another version of the package is the recommended one.',
  blackout: 'A blackout withholds changes of the host now.',
  verdict_pending: 'It is not judged yet.',
  not_judged_here: 'It was not judged for this view, which looks at the first 2,000 only.',
};

export function leftText(reason: string): string {
  return LEFT[reason] ?? reason;
}

const ENDS: Readonly<Record<string, string>> = {
  author_disabled: 'its author is disabled',
  author_demoted: 'its author may not approve any more',
  author_bound: 'its author is bound to groups',
  author_deleted: 'its author was deleted',
};

/** Why a policy does not run; null if it does. */
export function endText({ state, end_reason, ended_by }: Policy): string | null {
  switch (state) {
    case 'in_force':
      return null;
    case 'suspended':
      return `It approves nothing, because ${ENDS[end_reason ?? ''] ?? 'its author lost the right to it'}. It runs again when somebody publishes it again.`;
    case 'expired':
      return 'It has reached its end and approves nothing any more.';
    case 'revoked':
    case 'replaced':
      return `${ended_by ?? 'Somebody'} revoked it. What it approved keeps its token.`;
  }
}
