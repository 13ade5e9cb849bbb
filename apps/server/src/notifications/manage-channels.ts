import { isolated } from '@tidegate/protocol/isolated';
import { CHANNELS_MAX, type ChannelRequest, type ChannelTest } from '@tidegate/protocol/notifications-api';
import { appendEvent } from '../events/append-event.ts';
import { readHead } from '../events/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import {
  type ChannelRow,
  channelNamed,
  deleteChannel,
  findChannel,
  insertChannel,
  listChannels,
  lockChannel,
  updateChannel,
} from './channel-store.ts';
import { prepareSecret } from './channels/prepare-secret.ts';
import { attempt, settleAttempt, tellOutcome } from './deliver.ts';
import { LEASE_MS, leaseDelivery, messageOf } from './delivery-store.ts';
import type { NotificationDeps } from './deps.ts';
import { queueDelivery } from './queue-delivery.ts';
import { moveRulesOfChannel, ruleUsing } from './rule-store.ts';
import { configOf, openChannel, sealChannelSecret } from './seal-channel.ts';

interface Asked {
  readonly request: ChannelRequest;
  readonly actor: string;
}

export async function addChannel(deps: NotificationDeps, { request, actor }: Asked): Promise<ChannelRow> {
  const { platform } = deps;
  const nowMs = platform.now();
  const id = platform.newId();
  return platform.database.transact(async (tx) => {
    if ((await listChannels(tx)).length >= CHANNELS_MAX) {
      throw new Refusal('conflict', {
        detail: `There are ${CHANNELS_MAX} channels already. Remove one first.`,
      });
    }
    const row: ChannelRow = {
      ...{ id, ...(await rowOf(tx, deps, { id, request, kept: null })) },
      ...{ failures: 0, paused_until: 0, last_attempt: null },
      ...{ created_by: actor, created_at: nowMs, updated_at: nowMs },
    };
    await insertChannel(tx, row);
    await tell(tx, deps, { row, actor, change: 'added' });
    return row;
  });
}

/** A change also has the channel tried again at once. */
export async function changeChannel(
  deps: NotificationDeps,
  { id, request, actor }: Asked & { id: string },
): Promise<ChannelRow> {
  const { platform } = deps;
  return platform.database.transact(async (tx) => {
    const kept = await lockChannel(tx, id);
    if (!kept) throw noSuch('channel');
    const change = {
      ...(await rowOf(tx, deps, { id, request, kept })),
      ...{ failures: kept.failures, paused_until: 0, last_attempt: kept.last_attempt },
      updated_at: platform.now(),
    };
    await updateChannel(tx, id, change);
    // What happened while it was off is not sent afterwards.
    if (kept.is_enabled === 0 && request.is_enabled) {
      await moveRulesOfChannel(tx, { channelId: id, position: (await readHead(tx))?.position ?? 0 });
    }
    const row = { ...kept, ...change };
    const hasNewSecret = (request.secret ?? null) !== null;
    await tell(tx, deps, { row, from: { ...kept, hasNewSecret }, actor, change: 'changed' });
    return row;
  });
}

/** Removes a channel with its deliveries, also those that wait. */
export async function removeChannel(
  deps: NotificationDeps,
  { id, actor }: { id: string; actor: string },
): Promise<void> {
  await deps.platform.database.transact(async (tx) => {
    const row = await lockChannel(tx, id);
    if (!row) throw noSuch('channel');
    const rule = await ruleUsing(tx, id);
    if (rule !== null) {
      throw new Refusal('conflict', {
        detail: `The rule "${rule}" sends to this channel. Change the rule first.`,
      });
    }
    await deleteChannel(tx, id);
    await tell(tx, deps, { row, actor, change: 'removed' });
  });
}

/** Sends a test message now, whatever the state of the channel, and says how it went. */
export async function testChannel(
  deps: NotificationDeps,
  { id, actor, signal }: { id: string; actor: string; signal: AbortSignal },
): Promise<ChannelTest> {
  const { platform } = deps;
  const nowMs = platform.now();
  const delivery = await platform.database.transact(async (tx) => {
    const channel = await findChannel(tx, id);
    if (!channel) throw noSuch('channel');
    const summary = `${isolated(actor)} sent this message to test the channel "${isolated(channel.name)}". There is nothing to do.`;
    const told = { subject: 'Test message', severity: 'info' as const, summary, sections: [] };
    const test = {
      kind: 'test' as const,
      channelId: id,
      rule: null,
      told,
      payload: {},
      events: 0,
      updateIds: [],
    };
    const row = await queueDelivery(tx, platform, test, deps);
    return leaseDelivery(tx, { id: row.id, nowMs, leaseMs: LEASE_MS });
  });
  const channel = await findChannel(platform.database.read, id);
  if (!delivery || !channel) throw noSuch('channel');
  const outcome = await attempt(deps, { channel, message: messageOf(delivery), signal });
  await settleAttempt(deps, delivery, outcome);
  const { isDelivered, reason, answer } = tellOutcome(outcome);
  return {
    is_delivered: isDelivered,
    explanation: reason ?? 'The receiver took the test message.',
    ...{ answer, is_permanent: outcome.kind === 'failed' && outcome.isPermanent, delivery_id: delivery.id },
  };
}

/** The columns that a request decides. Throws a Refusal where the name is taken or the secret does not fit. */
async function rowOf(
  tx: Tx,
  { platform, channelKey: key }: NotificationDeps,
  { id, request, kept }: { id: string; request: ChannelRequest; kept: ChannelRow | null },
): Promise<Pick<ChannelRow, 'name' | 'config' | 'sealed_secret' | 'receiver_key' | 'is_enabled'>> {
  const { name, config, secret: given = null, is_enabled: isEnabled } = request;
  if (await channelNamed(tx, { name, but: kept?.id ?? null })) {
    throw notValid([{ path: '/name', message: 'must differ from the names of the other channels' }]);
  }
  const { random } = platform;
  // A secret that cannot be opened any more has to be given again.
  const before = kept && { config: configOf(kept), secret: openChannel(kept, key)?.secret ?? null };
  const prepared = prepareSecret({ config, given, kept: before, random });
  if (!prepared.ok) throw notValid([prepared.fault]);
  return {
    ...{ name, config: JSON.stringify(config), is_enabled: isEnabled ? 1 : 0 },
    sealed_secret: sealChannelSecret(prepared.secret, { key, id, config, random }),
    receiver_key: prepared.receiverKey,
  };
}

async function tell(
  tx: Tx,
  { platform }: NotificationDeps,
  {
    row,
    from,
    actor,
    change,
  }: {
    row: ChannelRow;
    from?: ChannelRow & { hasNewSecret: boolean };
    actor: string;
    change: 'added' | 'changed' | 'removed';
  },
): Promise<void> {
  const content = {
    ...{ channel_id: row.id, ...shown(row), kind: configOf(row).kind, change, actor },
    // Addresses may contain tokens, so only that they changed is recorded.
    ...(from && {
      ...{ before: shown(from), address_changed: from.config !== row.config },
      secret_changed: from.hasNewSecret,
    }),
  };
  await appendEvent(tx, platform, {
    // It decides who hears of everything else.
    ...{ kind: 'security', type: 'NOTIFICATION_CHANNEL_CHANGED', severity: 'warning' },
    ...{ component: 'notifications', actor, content },
  });
}

function shown({ name, is_enabled: isEnabled }: ChannelRow) {
  return { name, is_enabled: isEnabled === 1 };
}
