import type { FleetLockKind } from '@tidegate/protocol/fleet-lock';
import { createFreezes } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { removeHeldClient, slotOfClient } from '../reboot-slots/store.ts';
import { type ClientTakeOutcome, takeClientSlot } from '../reboot-slots/take-slot.ts';

type Means = Pick<Platform, 'newId' | 'now'>;

/** A client of the group of its token. */
export interface LockClient {
  readonly group: string;
  readonly clientId: string;
  readonly tokenId: string;
}

/** Null: the client may go down. */
export type LockOutcome = FleetLockKind | null;

const OUTCOMES: Readonly<Record<ClientTakeOutcome, LockOutcome>> = {
  free: null,
  held: null,
  failed: 'slot_failed',
  halted: 'group_halted',
  none_free: 'no_free_slot',
  too_few_healthy: 'too_few_healthy',
};

/**
 * Asks for a slot. Who holds one is told so again, as often as it asks, but in no blackout: whoever asks is about to go
 * down, and nothing else stands between.
 */
export async function preReboot(tx: Tx, platform: Means, client: LockClient): Promise<LockOutcome> {
  if (await isFrozen(tx, { client, nowMs: platform.now() })) return 'blackout';
  const outcome = await takeClientSlot(tx, platform, client);
  if (outcome === 'free') await recordChange(tx, platform, { change: 'granted', client });
  return OUTCOMES[outcome];
}

/**
 * Gives a slot back. A client without one is well, too. One that failed keeps it until a person releases it, and is told so
 * until then.
 */
export async function steadyState(tx: Tx, platform: Means, client: LockClient): Promise<LockOutcome> {
  if (await removeHeldClient(tx, client)) {
    await recordChange(tx, platform, { change: 'returned', client });
    return null;
  }
  return (await slotOfClient(tx, client)) === null ? null : 'slot_failed';
}

/** A blackout that names hosts or tags names no client; one of its group, or of all hosts, does. */
async function isFrozen(db: Db, { client, nowMs }: { client: LockClient; nowMs: number }): Promise<boolean> {
  const freezes = createFreezes(await liveBlackouts(db, nowMs), nowMs);
  return freezes.of({ id: client.clientId, group: client.group, tags: [] }) !== null;
}

async function recordChange(
  tx: Tx,
  platform: Means,
  { change, client }: { change: 'granted' | 'returned'; client: LockClient },
): Promise<void> {
  const { group, clientId, tokenId } = client;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'fleet_lock_changed', severity: 'info', component: 'reboots' },
    ...{ actor: 'fleet-lock', content: { change, group, client: clientId, token_id: tokenId } },
  });
}
