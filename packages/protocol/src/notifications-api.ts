import { type Static, Type } from 'typebox';
import { SECURITY_EVENT_TYPES, SEVERITIES, SYSTEM_EVENT_TYPES } from './event-types.ts';
import { CHANNEL_SECRET_MAX, ChannelConfig } from './notification-channels.ts';
import {
  Count,
  ECOSYSTEMS,
  Ecosystem,
  GroupName,
  nullable,
  strict,
  Timestamp,
  Uuid,
  visibleText,
} from './scalars.ts';
import { UpdateItem } from './updates-api.ts';
import { Schedule } from './windows-api.ts';

export const CHANNELS_MAX = 50;
export const RULES_MAX = 100;
/** Events that one message carries. */
export const MESSAGE_EVENTS_MAX = 250;
/** Updates that the set of one notice names. */
export const NOTICE_UPDATES_MAX = 1_000;
/** How long deliveries and the sets of their notices are kept after their end, in days. */
export const DELIVERIES_KEPT_DAYS = 30;
/** Attempts of one delivery, after which it is a dead letter. */
export const ATTEMPTS_MAX = 12;
/** Days that a preview looks back. */
export const PREVIEW_DAYS = 7;
export const PREVIEW_SAMPLES = 20;

/** A channel: where notices are sent to. */
export const ChannelRequest = strict({
  name: visibleText(100),
  is_enabled: Type.Boolean(),
  config: ChannelConfig,
  /** Stored sealed and never shown. Left out or null: none, or, in a change, the one that is stored. */
  secret: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: CHANNEL_SECRET_MAX }))),
});
export type ChannelRequest = Static<typeof ChannelRequest>;

/** `paused`: it failed several times in a row and is tried again at `next_try_at`, one message at a time. */
export const CHANNEL_STATES = ['off', 'idle', 'working', 'failing', 'paused'] as const;
const LastAttempt = strict({
  at: Timestamp,
  is_delivered: Type.Boolean(),
  /** In words: why it failed; null: it did not. */
  reason: nullable(Type.String()),
  /** What the receiver said. */
  answer: nullable(Type.String()),
});

export const NotificationChannel = strict({
  id: Uuid,
  name: Type.String(),
  is_enabled: Type.Boolean(),
  config: ChannelConfig,
  has_secret: Type.Boolean(),
  /** What the receiver needs to verify messages, and is no secret, such as the public key of a webhook. */
  receiver_key: nullable(Type.String()),
  /** `off`: switched off. `idle`: nothing was sent yet. */
  state: Type.Enum(CHANNEL_STATES),
  failures_in_a_row: Count,
  next_try_at: nullable(Timestamp),
  last_attempt: nullable(LastAttempt),
  waiting: Count,
  dead: Count,
  rules: Count,
  created_by: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type NotificationChannel = Static<typeof NotificationChannel>;

/** What a test message met. */
export const ChannelTest = strict({
  is_delivered: Type.Boolean(),
  /** A sentence for people: that it arrived, or what went wrong and what to do. */
  explanation: Type.String(),
  answer: nullable(Type.String()),
  /** Another attempt with the same settings cannot succeed. */
  is_permanent: Type.Boolean(),
  delivery_id: Uuid,
});
export type ChannelTest = Static<typeof ChannelTest>;

const { start: WallTime, zone: Zone } = Schedule.properties;
/** ISO: 1 is Monday, 7 is Sunday. */
const Weekdays = Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
  minItems: 1,
  maxItems: 7,
  uniqueItems: true,
  description: 'weekdays: 1 is Monday, 7 is Sunday',
});

/** No message begins in these hours: what they hold back is sent at their end. `until` before `from`: the next day. */
export const QuietHours = strict({ from: WallTime, until: WallTime, zone: Zone, weekdays: Weekdays });
export type QuietHours = Static<typeof QuietHours>;

export const NOTIFIABLE_EVENT_TYPES = [
  ...new Set([...SECURITY_EVENT_TYPES, ...SYSTEM_EVENT_TYPES.filter((type) => type !== 'client_error')]),
];

/** What a rule speaks of. Every condition has to hold; a fact that an event does not name meets no condition. */
export const RuleConditions = strict({
  /** Empty: every type. */
  event_types: Type.Array(Type.Enum(NOTIFIABLE_EVENT_TYPES), { maxItems: 200, uniqueItems: true }),
  minimum_severity: Type.Enum(SEVERITIES),
  /** Empty: every host, and what is about no host. */
  groups: Type.Array(GroupName, { maxItems: 100, uniqueItems: true }),
  /** Empty: every ecosystem, and what names none. */
  ecosystems: Type.Array(Ecosystem, { maxItems: ECOSYSTEMS.length, uniqueItems: true }),
  /** Only what names a vulnerability that is known to be exploited. */
  exploited_only: Type.Boolean(),
});
export type RuleConditions = Static<typeof RuleConditions>;

export const RuleMode = Type.Union([
  strict({
    kind: Type.Literal('at_once'),
    /** Events of so many seconds share a message. */
    batch_seconds: Type.Integer({ minimum: 0, maximum: 3_600 }),
  }),
  /** One message at a time of day: what waits, what failed, what is due, what is exploited, and the events since. */
  strict({ kind: Type.Literal('digest'), at: WallTime, zone: Zone, weekdays: Weekdays }),
  /** Fixes of exploited vulnerabilities on which nobody decided in time. `event_types` is empty. */
  strict({
    kind: Type.Literal('escalation'),
    after_hours: Type.Integer({ minimum: 1, maximum: 720 }),
    repeat_hours: Type.Integer({ minimum: 1, maximum: 720 }),
    /** Repeats after the first message; 0: none. */
    repeats_max: Type.Integer({ minimum: 0, maximum: 20 }),
  }),
]);
export type RuleMode = Static<typeof RuleMode>;

export const RuleRequest = strict({
  name: visibleText(100),
  is_enabled: Type.Boolean(),
  channel_id: Uuid,
  conditions: RuleConditions,
  quiet_hours: nullable(QuietHours),
  mode: RuleMode,
});
export type RuleRequest = Static<typeof RuleRequest>;

export const NotificationRule = strict({
  id: Uuid,
  ...RuleRequest.properties,
  channel_name: Type.String(),
  /** When the next digest is sent; null: the rule sends none. */
  next_digest_at: nullable(Timestamp),
  /** Until when quiet hours hold messages back; null: they do not now. */
  quiet_until: nullable(Timestamp),
  created_by: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type NotificationRule = Static<typeof NotificationRule>;

/** What a rule would have sent in the last PREVIEW_DAYS days. */
export const RulePreview = strict({
  since: Timestamp,
  /** Events that match; for an escalation, packages with an exploited fix that is overdue now. */
  matches: Count,
  messages: Count,
  /** False: there were too many events to look at all of them. */
  is_complete: Type.Boolean(),
  /** The newest first. */
  samples: Type.Array(strict({ at: Timestamp, severity: Type.Enum(SEVERITIES), text: Type.String() }), {
    maxItems: PREVIEW_SAMPLES,
  }),
});
export type RulePreview = Static<typeof RulePreview>;

export const DELIVERY_STATES = ['waiting', 'delivered', 'dead'] as const;
export const DELIVERY_KINDS = ['events', 'digest', 'escalation', 'test'] as const;

export const Delivery = strict({
  /** The receiver's id of the message: the same for each attempt. */
  id: Uuid,
  kind: Type.Enum(DELIVERY_KINDS),
  state: Type.Enum(DELIVERY_STATES),
  channel_id: Uuid,
  channel_name: Type.String(),
  /** Null: a test, or the rule was removed. */
  rule_id: nullable(Uuid),
  rule_name: nullable(Type.String()),
  subject: Type.String(),
  severity: Type.Enum(SEVERITIES),
  events: Count,
  updates: Count,
  attempts: Count,
  created_at: Timestamp,
  /** When it is tried next; null: it has ended. */
  next_attempt_at: nullable(Timestamp),
  ended_at: nullable(Timestamp),
  last_attempt: nullable(LastAttempt),
});
export type Delivery = Static<typeof Delivery>;

export const DeliveryDetail = strict({
  ...Delivery.properties,
  summary: Type.String(),
  sections: Type.Array(
    strict({
      title: Type.String(),
      items: Type.Array(strict({ text: Type.String(), link: nullable(Type.String()) })),
    }),
  ),
  /** Opens the set of updates that the message speaks of; null: the server has no SERVICE_BASE_URL. */
  link: nullable(Type.String()),
  tries: Type.Array(LastAttempt),
});
export type DeliveryDetail = Static<typeof DeliveryDetail>;

export const DeliveryFilter = {
  state: Type.Optional(Type.Enum(DELIVERY_STATES)),
  kind: Type.Optional(Type.Enum(DELIVERY_KINDS)),
  channel_id: Type.Optional(Uuid),
  rule_id: Type.Optional(Uuid),
};

/** Dead letters to send again: those of `ids`, or all of a channel. */
export const ResendRequest = Type.Union([
  strict({ ids: Type.Array(Uuid, { minItems: 1, maxItems: 200, uniqueItems: true }) }),
  strict({ channel_id: Uuid }),
]);
export type ResendRequest = Static<typeof ResendRequest>;
export const Resent = strict({ resent: Count });
export type Resent = Static<typeof Resent>;

/**
 * The updates that a notice speaks of, as they are now. Operators who are bound to groups are given the updates of
 * their hosts, and none of the text.
 */
export const NoticeSet = strict({
  id: Uuid,
  at: Timestamp,
  severity: Type.Enum(SEVERITIES),
  subject: nullable(Type.String()),
  summary: nullable(Type.String()),
  updates: Type.Array(UpdateItem, { maxItems: NOTICE_UPDATES_MAX }),
  /** Updates that the notice spoke of beyond NOTICE_UPDATES_MAX. */
  left_out: Count,
});
export type NoticeSet = Static<typeof NoticeSet>;
