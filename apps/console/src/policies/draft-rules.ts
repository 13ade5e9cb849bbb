import type {
  Policy,
  PolicyReboot,
  PolicyRequest,
  PolicyRestarts,
  PolicyScope,
  PolicyTerms,
  PolicyWindow,
  WindowAction,
} from '@tidegate/protocol/policies-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { dayFrom, endOfDay } from '../ui/day-rules.ts';
import { type RingDraft, ringDraftOf, ringOf } from './ring-draft.ts';
import { type Recurrence, recurrenceOf, rruleOf } from './schedule-rules.ts';

/** Of the server, without the schemas that come with its own constants. */
export const LIMITS = {
  windows: 10,
  leastMinutes: 30,
  mostMinutes: 10_080,
  ruleChars: 256,
  warnMinutes: 60,
  catchUpHours: 168,
} as const;
const DAYS = 90;
const DRAFT_MINUTES = 240;
const WARN_MINUTES = '5';

/** A window as the form holds it. */
export interface WindowDraft extends Recurrence {
  /** Empty: hosts that missed it wait for the next one. */
  readonly catchUpHours: string;
  /** Tells the windows of one form apart. */
  readonly key: number;
  readonly starts_on: string;
  readonly start: string;
  readonly zone: string;
  readonly minutes: string;
  /** Dates that are left out, one per line. */
  readonly except: string;
  /** What it is for; null: it does not say, as windows did before they could. */
  readonly actions: readonly WindowAction[] | null;
}

/** A policy as the form holds it: lists as text with one entry per line, numbers as they are typed. */
export interface Draft {
  readonly name: string;
  readonly text: string;
  readonly kind: PolicyScope['kind'];
  readonly groups: readonly string[];
  readonly hosts: readonly string[];
  readonly tags: readonly string[];
  readonly ecosystems: readonly Ecosystem[];
  readonly packages: string;
  readonly excepted: string;
  readonly origins: string;
  readonly securityOnly: boolean;
  readonly severity: PolicyTerms['minimum_severity'];
  readonly change: PolicyTerms['max_change'];
  readonly ageHours: string;
  readonly remaining: PolicyTerms['remaining_vulnerabilities'];
  readonly windows: readonly WindowDraft[];
  readonly endsOn: string;
  /** In their order, the last with all other hosts; empty: all hosts at once. */
  readonly rings: readonly RingDraft[];
  readonly restarts: PolicyRestarts;
  readonly reboot: PolicyReboot['when'];
  readonly warnMinutes: string;
  /** Days that a package waits which no earlier ring has installed; null: a person decides. */
  readonly waitDays: string | null;
  /** As the version that is changed has them. This form does not edit the chosen set. */
  readonly kept: Pick<PolicyRequest, 'unproven' | 'reboot' | 'restart_services'> & Pick<PolicyTerms, 'only'>;
  /** The exact end of the version that is changed; null for a new policy. */
  readonly endsAt: string | null;
}

/** What each part of the form gets. */
export interface FieldsProps {
  readonly draft: Draft;
  /** The server's refusal; its messages are shown at the fields. */
  readonly error: Error | null;
  readonly onChange: (changes: Partial<Draft>) => void;
}

/** What a new policy starts from. */
export function newDraft(nowMs: number): Draft {
  return {
    ...{ name: '', text: '', kind: 'all', groups: [], hosts: [], tags: [] },
    ...{ ecosystems: ['apt'], packages: '*', excepted: '', origins: '', securityOnly: true },
    ...{ severity: null, change: 'any', ageHours: '48', remaining: 'ask' },
    ...{ windows: [], restarts: 'never', reboot: 'never', warnMinutes: WARN_MINUTES },
    ...{ rings: [], waitDays: null, kept: {} },
    ...{ endsOn: dayFrom(nowMs, DAYS), endsAt: null },
  };
}

/** The form of a policy that is changed. One that has ended gets a new end. */
export function draftOf(policy: Policy, nowMs: number): Draft {
  const { name, text, scope, terms, windows, rings = [], unproven, ends_at: endsAt } = policy;
  const { reboot, restart_services: restarts } = policy;
  const { only } = terms;
  const isOver = Date.parse(endsAt) <= nowMs;
  return {
    ...{ name, text, kind: scope.kind },
    groups: scope.kind === 'some' ? scope.groups : [],
    hosts: scope.kind === 'some' ? scope.hosts : [],
    tags: scope.kind === 'some' ? (scope.tags ?? []) : [],
    ecosystems: terms.ecosystems,
    packages: terms.packages.join('\n'),
    excepted: terms.except_packages.join('\n'),
    origins: terms.origins.join('\n'),
    securityOnly: terms.security_only,
    severity: terms.minimum_severity,
    change: terms.max_change,
    ageHours: terms.min_age_hours === null ? '' : `${terms.min_age_hours}`,
    remaining: terms.remaining_vulnerabilities,
    windows: windows.map(windowDraftOf),
    rings: rings.map(ringDraftOf),
    restarts: restarts ?? 'never',
    reboot: reboot?.when ?? 'never',
    warnMinutes: reboot ? `${reboot.warn_minutes}` : WARN_MINUTES,
    waitDays: typeof unproven === 'object' ? `${unproven.wait_days}` : null,
    kept: {
      ...(unproven !== undefined && { unproven }),
      ...(reboot && { reboot }),
      ...(restarts && { restart_services: restarts }),
      ...(only && { only }),
    },
    endsOn: isOver ? dayFrom(nowMs, DAYS) : endsAt.slice(0, 10),
    endsAt: isOver ? null : endsAt,
  };
}

function windowDraftOf(schedule: PolicyWindow, key: number): WindowDraft {
  const { starts_on, start, zone, duration_minutes: minutes, except = [], actions = null } = schedule;
  const { catch_up_hours: hours } = schedule;
  return {
    ...recurrenceOf(schedule.rrule),
    ...{ key, starts_on, start, zone, minutes: `${minutes}`, except: except.join('\n'), actions },
    catchUpHours: hours === undefined ? '' : `${hours}`,
  };
}

/** A window to add: nightly from tomorrow on, in the reader's time zone. */
export function newWindow(
  windows: readonly WindowDraft[],
  { nowMs, zone }: { nowMs: number; zone: string },
): WindowDraft {
  return {
    ...recurrenceOf('FREQ=DAILY'),
    key: Math.max(-1, ...windows.map(({ key }) => key)) + 1,
    ...{ starts_on: dayFrom(nowMs, 1), start: '22:00', zone, minutes: `${DRAFT_MINUTES}`, except: '' },
    ...{ actions: null, catchUpHours: '' },
  };
}

/** What the form asks for. The server judges it. */
export function requestOf(draft: Draft): PolicyRequest {
  const { kind, groups, hosts, tags, endsOn, endsAt, kept } = draft;
  const { only } = kept;
  const tagged = tags.length > 0 ? { tags: [...tags] } : {};
  return {
    name: draft.name.trim(),
    text: draft.text.trim(),
    scope: kind === 'all' ? { kind } : { kind, groups: [...groups], hosts: [...hosts], ...tagged },
    terms: {
      ecosystems: [...draft.ecosystems],
      packages: linesOf(draft.packages),
      except_packages: linesOf(draft.excepted),
      origins: linesOf(draft.origins),
      security_only: draft.securityOnly,
      minimum_severity: draft.severity,
      max_change: draft.change,
      min_age_hours: draft.ageHours === '' ? null : Number(draft.ageHours),
      remaining_vulnerabilities: draft.remaining,
      ...(only && { only }),
    },
    windows: draft.windows.map(scheduleOf),
    ...(draft.rings.length > 0 && { rings: draft.rings.map(ringOf) }),
    ...unprovenOf(draft),
    ...restartsOf(draft),
    ...rebootOf(draft),
    // An end that is not touched stays what it was to the second.
    ends_at: endsAt !== null && endsAt.slice(0, 10) === endsOn ? endsAt : endOfDay(endsOn),
  };
}

/** The part of a request that a preview and a backtest judge. */
export function draftToJudge({ scope, terms, windows, restart_services, reboot, rings }: PolicyRequest) {
  return {
    ...{ scope, terms, windows },
    ...(restart_services && { restart_services }),
    ...(reboot && { reboot }),
    ...(rings && { rings }),
  };
}

/** A policy that says nothing about it leaves it to people, and goes on saying nothing. */
function unprovenOf({ waitDays, kept: { unproven } }: Draft): Pick<PolicyRequest, 'unproven'> {
  if (waitDays !== null) return { unproven: { wait_days: Number(waitDays) } };
  return unproven === undefined ? {} : { unproven: 'ask' };
}

/** The same for restarts of services. */
function restartsOf({ restarts, kept }: Draft): Pick<PolicyRequest, 'restart_services'> {
  return restarts === 'never' && kept.restart_services !== 'never' ? {} : { restart_services: restarts };
}

/** A policy that says nothing about reboots asks for none, and goes on saying nothing. */
function rebootOf({ reboot, warnMinutes, kept }: Draft): Pick<PolicyRequest, 'reboot'> {
  if (reboot === 'never') return kept.reboot?.when === 'never' ? { reboot: kept.reboot } : {};
  return { reboot: { when: reboot, warn_minutes: Number(warnMinutes) } };
}

/** What a policy does by itself: what one of its windows can be for. */
export function doneBy({ restarts, reboot }: Pick<Draft, 'restarts' | 'reboot'>): readonly WindowAction[] {
  return [
    'install' as const,
    ...(restarts === 'never' ? [] : ['restart_services' as const]),
    ...(reboot === 'never' ? [] : ['reboot' as const]),
  ];
}

function scheduleOf(window: WindowDraft): PolicyWindow {
  const { starts_on, start, zone, minutes, actions, catchUpHours: hours } = window;
  const installs = actions?.includes('install') ?? true;
  // What happens once shows no field for them.
  const except = window.recurs === 'once' ? [] : linesOf(window.except);
  return {
    rrule: rruleOf(window),
    ...{ starts_on, start, zone: zone.trim(), duration_minutes: Number(minutes) },
    ...(except.length === 0 ? {} : { except }),
    ...(actions !== null && { actions: [...actions] }),
    // One that is not for installing shows no field for them.
    ...(installs && hours !== '' && { catch_up_hours: Number(hours) }),
  };
}

/** Entries, one per line, each once. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}
