import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { isWaiting } from '../platform/due.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { FAILURES_TO_PAUSE, LONGEST_WAIT_MS, nextDelayMs, pauseMs } from './back-off-rules.ts';
import { type ChannelRow, dueChannels, findChannel, lockChannel, setHealth } from './channel-store.ts';
import type { Message, SendOutcome } from './channels/message.ts';
import {
  type DeliveryRow,
  endLeases,
  insertAttempt,
  LEASE_MS,
  leaseDelivery,
  messageOf,
  nextDue,
  settleDelivery,
} from './delivery-store.ts';
import type { NotificationDeps } from './deps.ts';
import { openChannel } from './seal-channel.ts';

/** Deliveries to one channel in one run; the rest is due at the next tick. */
const A_RUN = 50;

type Failed = Extract<SendOutcome, { kind: 'failed' }>;

/**
 * Delivers what is due, each channel by itself and one message at a time: one that hangs or is down delays no other, and
 * memory holds one message for each channel.
 */
export function createDeliverer(deps: NotificationDeps, { tickMs }: { tickMs: number }): BackgroundWork {
  const { platform } = deps;
  const ended = new AbortController();
  const running = new Map<string, Promise<void>>();
  let isBegun = false;

  async function run(channelId: string): Promise<void> {
    try {
      for (let sent = 0; sent < A_RUN && !ended.signal.aborted; sent += 1) {
        if (!(await deliverNext(deps, { channelId, signal: ended.signal }))) return;
      }
    } catch (error) {
      platform.log.error('a notification was not delivered', { channel_id: channelId, error: String(error) });
    } finally {
      running.delete(channelId);
    }
  }

  const ticks = repeat({
    intervalMs: tickMs,
    async run() {
      try {
        if (!isBegun) await platform.database.transact(endLeases);
        isBegun = true;
        for (const id of await dueChannels(platform.database.read, platform.now())) {
          if (!running.has(id)) running.set(id, run(id));
        }
      } catch (error) {
        // An unavailable database must not end the process: the next tick tries again.
        platform.log.error('deliveries of notifications were not read', { error: String(error) });
      }
    },
  });
  return {
    start: ticks.start,
    async stop() {
      const stopped = ticks.stop();
      ended.abort();
      await stopped;
      await Promise.all(running.values());
    },
  };
}

/** Tries the delivery of a channel that is due for the longest time. False: none is, or the channel rests now. */
export async function deliverNext(
  deps: NotificationDeps,
  { channelId, signal }: { channelId: string; signal: AbortSignal },
): Promise<boolean> {
  const { platform } = deps;
  const { database } = platform;
  const nowMs = platform.now();
  const channel = await findChannel(database.read, channelId);
  if (!channel || channel.is_enabled === 0) return false;
  if (isWaiting(channel.paused_until, { nowMs, longestMs: LONGEST_WAIT_MS })) return false;
  const id = await nextDue(database.read, { channelId, nowMs });
  if (id === null) return false;
  const delivery = await database.transact((tx) => leaseDelivery(tx, { id, nowMs, leaseMs: LEASE_MS }));
  if (!delivery) return true;
  const outcome = await attempt(deps, { channel, message: messageOf(delivery), signal });
  // What the stop of the server cut off counts as begun, and is tried again after the start.
  if (signal.aborted && outcome.kind === 'failed') return false;
  return settleAttempt(deps, delivery, outcome);
}

/** One attempt with the secret of the channel. */
export async function attempt(
  { channelKey, send, platform, outgoing }: NotificationDeps,
  { channel, message, signal }: { channel: ChannelRow; message: Message; signal: AbortSignal },
): Promise<SendOutcome> {
  const opened = openChannel(channel, channelKey);
  if (opened === null) return UNREADABLE;
  return send(opened, message, { outgoing, now: platform.now, signal });
}

const UNREADABLE: Failed = {
  ...{ kind: 'failed', isPermanent: true, answer: null, retryAfterMs: null },
  reason:
    'The secret of the channel cannot be read: its row was changed by something else than the server, or the token secret of the server is another one. Enter the secret again.',
};

/** Writes how an attempt went, for the delivery and for its channel. False: the channel is left alone for a while. */
export async function settleAttempt(
  { platform }: NotificationDeps,
  delivery: DeliveryRow,
  outcome: SendOutcome,
): Promise<boolean> {
  const nowMs = platform.now();
  const { isDelivered, reason, answer } = tellOutcome(outcome);
  return platform.database.transact(async (tx) => {
    const channel = await lockChannel(tx, delivery.channel_id);
    if (!channel) return false;
    await insertAttempt(tx, {
      ...{ delivery_id: delivery.id, number: delivery.attempts, at: nowMs },
      ...{ is_delivered: isDelivered ? 1 : 0, reason, answer },
    });
    const share = platform.random(1).readUInt8() / 255;
    await settleDelivery(tx, delivery.id, afterAttempt(delivery, { outcome, nowMs, share }));
    const failures = isDelivered ? 0 : channel.failures + 1;
    const retryAfterMs = outcome.kind === 'failed' ? outcome.retryAfterMs : null;
    const pausedUntil = nowMs + pauseMs({ failures, retryAfterMs, share });
    const last = JSON.stringify({ at: nowMs, is_delivered: isDelivered, reason, answer });
    await setHealth(tx, channel.id, { failures, paused_until: pausedUntil, last_attempt: last });
    await tellChange(tx, platform, { channel, failures, reason });
    return pausedUntil <= nowMs;
  });
}

export function tellOutcome(outcome: SendOutcome) {
  const isDelivered = outcome.kind === 'delivered';
  return { isDelivered, reason: isDelivered ? null : outcome.reason, answer: outcome.answer };
}

function afterAttempt(
  delivery: DeliveryRow,
  { outcome, nowMs, share }: { outcome: SendOutcome; nowMs: number; share: number },
): Parameters<typeof settleDelivery>[2] {
  if (outcome.kind === 'delivered') {
    // What was delivered is listed, and not sent again: only its text is kept.
    const message = JSON.stringify({ ...messageOf(delivery), payload: {} });
    return { state: 'delivered', next_attempt_at: nowMs, ended_at: nowMs, message };
  }
  const { isPermanent, retryAfterMs } = outcome;
  const isOver = delivery.attempts >= delivery.attempts_max;
  if (isPermanent || isOver || delivery.kind === 'test') {
    return { state: 'dead', next_attempt_at: nowMs, ended_at: nowMs };
  }
  const delayMs = nextDelayMs({ attempts: delivery.attempts, retryAfterMs, share });
  return { state: 'waiting', next_attempt_at: nowMs + delayMs, ended_at: null };
}

/** One event when a channel begins to fail, and one when it works again: never one for each message. */
async function tellChange(
  tx: Tx,
  platform: NotificationDeps['platform'],
  { channel, failures, reason }: { channel: ChannelRow; failures: number; reason: string | null },
): Promise<void> {
  const about = { channel_id: channel.id, name: channel.name };
  const base = { kind: 'system', component: 'notifications', actor: 'server' } as const;
  if (failures === FAILURES_TO_PAUSE && channel.failures < FAILURES_TO_PAUSE) {
    const content = { ...about, reason };
    await appendEvent(tx, platform, {
      ...base,
      type: 'notification_channel_failing',
      severity: 'error',
      content,
    });
  } else if (failures === 0 && channel.failures >= FAILURES_TO_PAUSE) {
    const content = { ...about, failures: channel.failures };
    await appendEvent(tx, platform, {
      ...base,
      type: 'notification_channel_recovered',
      severity: 'info',
      content,
    });
  }
}
