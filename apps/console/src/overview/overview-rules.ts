import type { Figure, HistoryDay, Opens, Overview } from '@tidegate/protocol/overview-api';
import { shareText } from '../holds/held-rules.ts';

/** The page of each list; both take the same filter. */
const PAGES: Readonly<Record<Opens['list'], string>> = {
  agents: '/hosts',
  updates: '/updates',
  commands: '/commands',
  events: '/events',
  divergences: '/divergences',
  'signing-keys': '/signing-keys',
  'registration-tokens': '/enrolment',
  'notification-deliveries': '/notifications/deliveries',
};

export interface Place {
  readonly to: string;
  readonly search: Readonly<Record<string, string>>;
}

/** The page that a count links to; null if no list shows exactly what it counts. */
export function placeOf(opens: Opens | null): Place | null {
  return opens && { to: PAGES[opens.list], search: opens.filter };
}

export type Tone = 'bad' | 'warn' | 'unknown' | 'plain';

export interface Row {
  readonly id: string;
  readonly word: string;
  readonly figure: Figure;
  /** The tone of a count above zero. */
  readonly tone: Tone;
}

type Rows = readonly (Omit<Row, 'figure'> & { readonly figure: Figure | null })[];

/** Leaves out figures that the caller may not see. */
function shown(rows: Rows): readonly Row[] {
  return rows.flatMap(({ figure, ...rest }) => (figure === null ? [] : [{ ...rest, figure }]));
}

/** What happened in the last day. */
export function changed({ changed: now }: Pick<Overview, 'changed'>): readonly Row[] {
  return shown([
    { id: 'installed', word: 'updates installed', figure: now.installed, tone: 'plain' },
    { id: 'failed', word: 'updates failed', figure: now.failed, tone: 'bad' },
    { id: 'approved', word: 'updates approved', figure: now.approved, tone: 'plain' },
    { id: 'new', word: 'updates found', figure: now.new_updates, tone: 'plain' },
    { id: 'enrolled', word: 'hosts enrolled', figure: now.hosts_enrolled, tone: 'plain' },
  ]);
}

/**
 * How many hosts are up to date; `100 %` only if all are, and a host that never reported its packages is not. Null: there
 * is no active host.
 */
export function currentShare({ totals, needs_me }: Pick<Overview, 'totals' | 'needs_me'>): string | null {
  const active = totals.hosts_bound.count + needs_me.hosts_unbound.count;
  return active === 0 ? null : shareText(totals.hosts_current.count, active);
}

/** Days of history before a chart says anything. */
export const CHART_DAYS_MIN = 7;

/** Whether a line has enough days to be drawn. */
export function isDrawable(values: readonly (number | null)[]): boolean {
  return values.filter((value) => value !== null).length >= CHART_DAYS_MIN;
}

/** The sum of the days: hosts times days with a known fix that is not installed. */
export function hostDays(exposedHosts: readonly (number | null)[]): number {
  return exposedHosts.reduce<number>((sum, hosts) => sum + (hosts ?? 0), 0);
}

/** The series of the charts: days, and one value per day each. */
export function seriesOf(items: readonly HistoryDay[]) {
  return {
    days: items.map(({ day }) => day),
    median: items.map(({ median_age_hours }) => median_age_hours),
    p95: items.map(({ p95_age_hours }) => p95_age_hours),
    exposedHosts: items.map(({ exposed_hosts }) => exposed_hosts),
  };
}

const DAY_HOURS = 24;

/** `5 h`, `3.5 d`. */
export function hoursText(hours: number): string {
  if (hours < 2 * DAY_HOURS) return `${Math.round(hours)} h`;
  const days = hours / DAY_HOURS;
  return `${days < 10 ? Math.round(days * 10) / 10 : Math.round(days)} d`;
}
