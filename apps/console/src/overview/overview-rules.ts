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

/** What needs attention, the most serious first. */
export function needsMe({ needs_me: now }: Pick<Overview, 'needs_me'>): readonly Row[] {
  return shown([
    { id: 'exploited', word: 'updates pending, known to be exploited', figure: now.exploited, tone: 'bad' },
    { id: 'clones', word: 'hosts suspected to be clones', figure: now.clones_suspected, tone: 'bad' },
    {
      id: 'divergences',
      word: 'packages with conflicting hashes',
      figure: now.divergences_open,
      tone: 'bad',
    },
    { id: 'clear', word: 'updates pending, clear', figure: now.waiting.clear, tone: 'plain' },
    { id: 'vulnerable', word: 'updates pending, vulnerable', figure: now.waiting.vulnerable, tone: 'bad' },
    { id: 'unchecked', word: 'updates pending, unchecked', figure: now.waiting.unchecked, tone: 'unknown' },
    {
      id: 'not_judged',
      word: 'updates pending, not judged yet',
      figure: now.waiting.not_judged,
      tone: 'unknown',
    },
    { id: 'blocked', word: 'updates blocked, or returned to pending', figure: now.blocked, tone: 'warn' },
    { id: 'failed', word: 'installations failed', figure: now.failed, tone: 'bad' },
    {
      id: 'undelivered',
      word: 'approvals not delivered yet',
      figure: now.approvals_undelivered,
      tone: 'warn',
    },
    { id: 'offline', word: 'hosts offline', figure: now.hosts_offline, tone: 'warn' },
    { id: 'unbound', word: 'hosts bound to no machine', figure: now.hosts_unbound, tone: 'warn' },
    { id: 'keys', word: 'signing keys due for rotation', figure: now.keys_due, tone: 'warn' },
    {
      id: 'tokens',
      word: 'registration tokens about to expire',
      figure: now.registration_tokens_ending,
      tone: 'warn',
    },
  ]);
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

/** Signs that an identity or a verdict cannot be trusted. */
export function lying({ lying: now, needs_me }: Pick<Overview, 'lying' | 'needs_me'>): readonly Row[] {
  return shown([
    {
      id: 'mismatches',
      word: 'requests from the wrong machine',
      figure: now.machine_mismatches,
      tone: 'bad',
    },
    { id: 'reuse', word: 'refresh tokens reused', figure: now.token_reuse, tone: 'bad' },
    { id: 'clones', word: 'hosts suspected to be clones', figure: needs_me.clones_suspected, tone: 'bad' },
    {
      id: 'unchecked',
      word: 'updates pending, unchecked',
      figure: now.unchecked,
      tone: 'unknown',
    },
  ]);
}

/** How many hosts are up to date; `100 %` only if all are, and a host that never reported its packages is not. */
export function currentText({
  totals,
  needs_me,
  held,
}: Pick<Overview, 'totals' | 'needs_me' | 'held'>): string {
  const active = totals.hosts_bound.count + needs_me.hosts_unbound.count;
  const text = `${shareText(totals.hosts_current.count, active)} of the active hosts are up to date`;
  return held.updates > 0 ? `${text},` : `${text}.`;
}

/** The series of the charts: days, and one value per day each. */
export function seriesOf(items: readonly HistoryDay[]) {
  return {
    days: items.map(({ day }) => day),
    median: items.map(({ median_age_hours }) => median_age_hours),
    p95: items.map(({ p95_age_hours }) => p95_age_hours),
    exposed: items.map(({ exposed }) => exposed),
    open: items.map(({ open }) => open.clear + open.vulnerable + open.unchecked + open.not_judged),
  };
}

const DAY_HOURS = 24;

/** `5 h`, `3.5 d`. */
export function hoursText(hours: number): string {
  if (hours < 2 * DAY_HOURS) return `${Math.round(hours)} h`;
  const days = hours / DAY_HOURS;
  return `${days < 10 ? Math.round(days * 10) / 10 : Math.round(days)} d`;
}
