import { counted } from '@tidegate/protocol/count-words';
import { SECURITY_EVENT_TYPES, type Severity, SYSTEM_EVENT_TYPES } from '@tidegate/protocol/event-types';
import { eventWords } from '@tidegate/protocol/event-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { NotificationRule, RuleMode, RuleRequest } from '@tidegate/protocol/notifications-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { MANAGERS } from '../hosts/package-managers.ts';
import { WEEKDAY_KEYS, WEEKDAYS } from '../policies/schedule-rules.ts';
import { listed } from '../updates/update-words.ts';

export const RULES = '/api/v1/notifications/rules';

type EventTypes = RuleRequest['conditions']['event_types'];
type ModeKind = RuleMode['kind'];

/** The types that a rule can name: an error of a console is told to nobody. */
export const NOTIFIABLE: EventTypes = [
  ...SECURITY_EVENT_TYPES,
  ...SYSTEM_EVENT_TYPES.filter((type) => type !== 'client_error'),
].toSorted((a, b) => eventWords(a).localeCompare(eventWords(b)));

export const MODES: Readonly<Record<ModeKind, string>> = {
  at_once: 'at once: a message when something happens',
  digest: 'as a digest: one message at a time of day',
  escalation: 'as an escalation: when nobody approved, rejected or held an exploited fix in time',
};
export const MODE_KEYS = ['at_once', 'digest', 'escalation'] as const satisfies readonly ModeKind[];

export const SEVERITIES: Readonly<Record<Severity, string>> = {
  info: 'any',
  warning: 'warning or worse',
  error: 'error or worse',
  critical: 'critical only',
};
export const SEVERITY_KEYS = ['info', 'warning', 'error', 'critical'] as const satisfies readonly Severity[];

/** ISO numbers of weekdays as text, which is what a check list takes. */
export const DAYS: readonly (readonly [day: string, word: string])[] = WEEKDAY_KEYS.map((key, i) => [
  String(i + 1),
  WEEKDAYS[key],
]);
const EVERY_DAY = DAYS.map(([day]) => day);

/** What the form holds. The parts of modes and quiet hours that are not chosen are kept while others are. */
export interface RuleDraft {
  readonly name: string;
  readonly channelId: string;
  readonly mode: ModeKind;
  readonly severity: Severity;
  readonly types: EventTypes;
  readonly groups: readonly string[];
  readonly ecosystems: readonly Ecosystem[];
  readonly exploitedOnly: boolean;
  readonly batchMinutes: string;
  readonly at: string;
  readonly digestDays: readonly string[];
  readonly afterHours: string;
  readonly repeatHours: string;
  readonly repeatsMax: string;
  readonly isQuiet: boolean;
  readonly quietFrom: string;
  readonly quietUntil: string;
  readonly quietDays: readonly string[];
  /** Of the digest and of the quiet hours. */
  readonly zone: string;
}

export function draftOf(
  rule: NotificationRule | null,
  fallback: { channelId: string; zone: string },
): RuleDraft {
  const { conditions, quiet_hours: quiet = null, mode } = rule ?? {};
  const at = mode?.kind === 'digest' ? mode : null;
  const late = mode?.kind === 'escalation' ? mode : null;
  const batchSeconds = mode?.kind === 'at_once' ? mode.batch_seconds : 60;
  return {
    ...{ name: rule?.name ?? '', channelId: rule?.channel_id ?? fallback.channelId },
    ...{ mode: mode?.kind ?? 'at_once', severity: conditions?.minimum_severity ?? 'error' },
    ...{ types: conditions?.event_types ?? [], groups: conditions?.groups ?? [] },
    ...{ ecosystems: conditions?.ecosystems ?? [], exploitedOnly: conditions?.exploited_only ?? false },
    batchMinutes: String(batchSeconds / 60),
    ...{ at: at?.at ?? '07:30', digestDays: at?.weekdays.map(String) ?? EVERY_DAY },
    ...{ afterHours: String(late?.after_hours ?? 24), repeatHours: String(late?.repeat_hours ?? 24) },
    repeatsMax: String(late?.repeats_max ?? 3),
    ...{ isQuiet: quiet !== null, quietFrom: quiet?.from ?? '20:00', quietUntil: quiet?.until ?? '07:00' },
    quietDays: quiet?.weekdays.map(String) ?? EVERY_DAY,
    zone: at?.zone ?? quiet?.zone ?? fallback.zone,
  };
}

export function requestOf(draft: RuleDraft, isEnabled: boolean): RuleRequest {
  const { zone, severity, groups, ecosystems, exploitedOnly } = draft;
  const quiet = { from: draft.quietFrom, until: draft.quietUntil, zone, weekdays: daysOf(draft.quietDays) };
  return {
    ...{ name: draft.name.trim(), channel_id: draft.channelId, is_enabled: isEnabled },
    conditions: {
      event_types: draft.mode === 'escalation' ? [] : [...draft.types],
      minimum_severity: severity,
      ...{ groups: [...groups], ecosystems: [...ecosystems], exploited_only: exploitedOnly },
    },
    quiet_hours: draft.isQuiet ? quiet : null,
    mode: modeOf(draft),
  };
}

function modeOf(draft: RuleDraft): RuleMode {
  switch (draft.mode) {
    case 'at_once':
      return { kind: 'at_once', batch_seconds: Math.round(Number(draft.batchMinutes) * 60) };
    case 'digest':
      return { kind: 'digest', at: draft.at, zone: draft.zone, weekdays: daysOf(draft.digestDays) };
    case 'escalation':
      return {
        ...{ kind: 'escalation', after_hours: Number(draft.afterHours) },
        ...{ repeat_hours: Number(draft.repeatHours), repeats_max: Number(draft.repeatsMax) },
      };
  }
}

const daysOf = (days: readonly string[]) => days.map(Number);

/** A stored rule that is only turned on or off. */
export function switchedRule(rule: NotificationRule): RuleRequest {
  const { name, channel_id, conditions, quiet_hours, mode, is_enabled } = rule;
  return { name, channel_id, conditions, quiet_hours, mode, is_enabled: !is_enabled };
}

/** When a rule sends, in a few words. */
export function modeText(mode: RuleMode): string {
  switch (mode.kind) {
    case 'at_once':
      return mode.batch_seconds === 0
        ? 'at once'
        : `at once, one message for all within ${spanText(mode.batch_seconds)}`;
    case 'digest':
      return `digest ${daysText(mode.weekdays)} at ${mode.at} (${mode.zone})`;
    case 'escalation': {
      const again =
        mode.repeats_max === 0 ? '' : `, again each ${mode.repeat_hours} h, ${mode.repeats_max} times`;
      return `when an exploited fix waits for ${mode.after_hours} h${again}`;
    }
  }
}

/** What a rule is about, in a few words. */
export function conditionsText({ conditions, mode }: Pick<RuleRequest, 'conditions' | 'mode'>): string {
  const { event_types: types, minimum_severity: severity, groups, ecosystems, exploited_only } = conditions;
  const what =
    mode.kind === 'escalation'
      ? 'exploited fixes'
      : types.length === 0
        ? 'all events'
        : types.length <= 2
          ? listed(types.map(eventWords))
          : counted(types.length, 'event type');
  const parts = [
    what,
    ...(severity === 'info' || mode.kind === 'escalation' ? [] : [SEVERITIES[severity]]),
    ...(exploited_only && mode.kind !== 'escalation' ? ['exploited'] : []),
    ...(groups.length > 0 ? [`of ${isolated(listed(groups))}`] : []),
    ...(ecosystems.length > 0 ? [listed(ecosystems.map((one) => MANAGERS[one]))] : []),
  ];
  return parts.join(', ');
}

function daysText(days: readonly number[]): string {
  if (days.length === 7) return 'every day';
  const key = days.toSorted((a, b) => a - b).join('');
  if (key === '12345') return 'on working days';
  return `on ${listed(DAYS.filter(([day]) => days.includes(Number(day))).map(([, word]) => word))}`;
}

function spanText(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
