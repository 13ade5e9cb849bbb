import type {
  Delivery,
  DeliveryDetail,
  NotificationChannel,
  NotificationRule,
} from '@tidegate/protocol/notifications-api';
import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { ChannelRow } from './channel-store.ts';
import { type AttemptRow, type ListedDelivery, messageOf } from './delivery-store.ts';
import type { Rule } from './rule-store.ts';
import { configOf } from './seal-channel.ts';
import { quietUntil } from './time-rules.ts';

const StoredAttempt = Type.Object({
  at: Type.Integer(),
  is_delivered: Type.Boolean(),
  reason: nullable(Type.String()),
  answer: nullable(Type.String()),
});

export function channelView(
  row: ChannelRow,
  { counts, nowMs }: { counts: { rules: number; waiting: number; dead: number }; nowMs: number },
): NotificationChannel {
  const last = row.last_attempt === null ? null : Value.Parse(StoredAttempt, JSON.parse(row.last_attempt));
  const isPaused = row.paused_until > nowMs;
  return {
    ...{ id: row.id, name: row.name, is_enabled: row.is_enabled === 1, config: configOf(row) },
    ...{ has_secret: row.sealed_secret !== null, receiver_key: row.receiver_key },
    state: stateOf(row, { isPaused, wasTried: last !== null }),
    failures_in_a_row: row.failures,
    next_try_at: isPaused && row.is_enabled === 1 ? rfc3339(row.paused_until) : null,
    last_attempt: last && { ...last, at: rfc3339(last.at) },
    ...counts,
    ...{
      created_by: row.created_by,
      created_at: rfc3339(row.created_at),
      updated_at: rfc3339(row.updated_at),
    },
  };
}

function stateOf(
  row: ChannelRow,
  { isPaused, wasTried }: { isPaused: boolean; wasTried: boolean },
): NotificationChannel['state'] {
  if (row.is_enabled === 0) return 'off';
  if (isPaused) return 'paused';
  if (row.failures > 0) return 'failing';
  return wasTried ? 'working' : 'idle';
}

export function ruleView(
  rule: Rule,
  { channelName, nowMs }: { channelName: string; nowMs: number },
): NotificationRule {
  const { id, name, channel_id, conditions, mode, quietHours } = rule;
  const quiet = quietUntil(quietHours, nowMs);
  return {
    ...{ id, name, is_enabled: rule.is_enabled === 1, channel_id, conditions, mode },
    ...{ quiet_hours: quietHours, channel_name: channelName },
    next_digest_at: rule.next_digest_at === null ? null : rfc3339(rule.next_digest_at),
    quiet_until: quiet === null ? null : rfc3339(quiet),
    ...{
      created_by: rule.created_by,
      created_at: rfc3339(rule.created_at),
      updated_at: rfc3339(rule.updated_at),
    },
  };
}

export function deliveryView(row: ListedDelivery): Delivery {
  const { subject, severity } = messageOf(row);
  return {
    ...{ id: row.id, kind: row.kind, state: row.state, channel_id: row.channel_id },
    ...{ channel_name: row.channel_name, rule_id: row.rule_id, rule_name: row.rule_name, subject, severity },
    ...{ events: row.events, updates: updateIdsIn(row).length + row.left_out, attempts: row.attempts },
    created_at: rfc3339(row.created_at),
    next_attempt_at: row.state === 'waiting' ? rfc3339(row.next_attempt_at) : null,
    ended_at: row.ended_at === null ? null : rfc3339(row.ended_at),
    last_attempt: row.last && attemptView(row.last),
  };
}

export function deliveryDetail(row: ListedDelivery, tries: readonly AttemptRow[]): DeliveryDetail {
  const { summary, sections, link } = messageOf(row);
  return {
    ...deliveryView(row),
    ...{ summary, link },
    sections: sections.map(({ title, items }) => ({ title, items: [...items] })),
    tries: tries.map(attemptView),
  };
}

/** The updates that a notice speaks of. */
export function updateIdsIn({ update_ids: ids }: Pick<ListedDelivery, 'update_ids'>): string[] {
  return Value.Parse(Type.Array(Type.String()), JSON.parse(ids));
}

function attemptView({ at, is_delivered: isDelivered, reason, answer }: AttemptRow) {
  return { at: rfc3339(at), is_delivered: isDelivered === 1, reason, answer };
}
