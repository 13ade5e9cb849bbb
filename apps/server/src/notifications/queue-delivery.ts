import { ATTEMPTS_MAX, NOTICE_UPDATES_MAX } from '@tidegate/protocol/notifications-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { Message } from './channels/message.ts';
import type { Base } from './compose-rules.ts';
import { type DeliveryRow, insertDelivery } from './delivery-store.ts';

export interface NewDelivery {
  readonly kind: DeliveryRow['kind'];
  readonly channelId: string;
  /** Null: a test. */
  readonly rule: { readonly id: string; readonly name: string } | null;
  readonly told: Pick<Message, 'subject' | 'severity' | 'summary' | 'sections'>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly events: number;
  /** The updates that it speaks of, and how many there are where these are not all. */
  readonly updateIds: readonly string[];
  readonly updateCount?: number;
}

/**
 * Puts a message into the outbox, in the transaction that decides on it. Its id is that of the notice, and the same for
 * every attempt. Ids that name nothing, such as those of deleted updates, do no harm.
 */
export async function queueDelivery(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  delivery: NewDelivery,
  { base }: { base: Base },
): Promise<DeliveryRow> {
  const row = deliveryRow(platform, delivery, { base });
  await insertDelivery(tx, row);
  return row;
}

/** A message as it is stored. */
function deliveryRow(
  platform: Pick<Platform, 'newId' | 'now'>,
  { kind, channelId, rule, told, payload, events, updateIds, updateCount }: NewDelivery,
  { base }: { base: Base },
): DeliveryRow {
  const id = platform.newId();
  const nowMs = platform.now();
  const named = [...new Set(updateIds)];
  const shown = named.slice(0, NOTICE_UPDATES_MAX);
  const link = base === null ? null : shown.length > 0 ? `${base}/notices/${id}` : `${base}/events`;
  const rulePart = rule && { id: rule.id, name: rule.name };
  const message: Message = {
    ...{ id, ...told, at: rfc3339(nowMs), link },
    payload: { kind, rule: rulePart, ...payload },
  };
  return {
    ...{ id, channel_id: channelId, rule_id: rule?.id ?? null, rule_name: rule?.name ?? null, kind },
    ...{ state: 'waiting', message: JSON.stringify(message), events },
    update_ids: JSON.stringify(shown),
    left_out: Math.max(0, (updateCount ?? named.length) - shown.length),
    ...{ attempts: 0, attempts_max: ATTEMPTS_MAX, next_attempt_at: nowMs, leased_until: 0 },
    ...{ created_at: nowMs, ended_at: null },
  };
}
