import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { isHalted } from '../reboot-slots/slot-rules.ts';
import { countSlots, endSlot, lockGroup, type SlotRow } from '../reboot-slots/store.ts';
import { settle } from './settle-rules.ts';
import { changeSlot, overdueClients, type SlotSeen, slotsToSettle } from './slots-store.ts';

/** Slots that one statement reads. */
const PAGE = 200;
/** After so long a FleetLock client has said again that it is back, in milliseconds: Zincati asks every five minutes. */
export const CLIENT_PATIENCE_MS = 15 * 60_000;

type Means = Pick<Platform, 'database' | 'newId' | 'now'>;

/** One turn of a server that has listened to its hosts since then. */
export interface Turn {
  readonly listeningSince: number;
  readonly isStopped: () => boolean;
}

/** Moves every slot as far as what is known of its host allows. Each is a transaction of its own. */
export async function settleSlots(platform: Means, turn: Turn): Promise<void> {
  await settleHosts(platform, turn);
  await failClients(platform, turn);
}

/** Of a FleetLock client nothing is known but what it says: one that is silent until its end fails. */
async function failClients(platform: Means, { listeningSince, isStopped }: Turn): Promise<void> {
  const { database, now } = platform;
  if (now() - listeningSince < CLIENT_PATIENCE_MS) return;
  const detail = 'it has not said that it is back';
  for (let after = ''; !isStopped(); ) {
    const page = await overdueClients(database.read, { nowMs: now(), limit: PAGE, after });
    for (const slot of page) await database.transact((tx) => failSlot(tx, platform, { slot, detail }));
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.id;
  }
}

async function settleHosts(platform: Means, { listeningSince, isStopped }: Turn): Promise<void> {
  for (let after = ''; !isStopped(); ) {
    const page = await slotsToSettle(platform.database.read, { limit: PAGE, after });
    for (const seen of page) await settleSlot(platform, { ...seen, listeningSince });
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.slot.id;
  }
}

async function settleSlot(
  platform: Means,
  { slot, patienceMs, facts, listeningSince }: SlotSeen & Pick<Turn, 'listeningSince'>,
): Promise<void> {
  const nowMs = platform.now();
  const step = settle({ nowMs, couldReport: nowMs - listeningSince >= patienceMs, ...facts });
  const from = slot.state;
  switch (step.kind) {
    case 'wait':
      return;
    case 'back': {
      const change = { state: 'proving', back_at: step.backAtMs, ends_at: step.endsAtMs } as const;
      await platform.database.transact((tx) => changeSlot(tx, { id: slot.id, from, change }));
      return;
    }
    case 'end': {
      const end = { outcome: step.outcome, by: 'server', nowMs };
      await platform.database.transact((tx) => endSlot(tx, { of: { id: slot.id }, from: [from], ...end }));
      return;
    }
    case 'fail':
      await platform.database.transact((tx) => failSlot(tx, platform, { slot, detail: step.detail }));
  }
}

/** A host that fails keeps its slot. One too many of a group halts the others, which is an event. */
async function failSlot(
  tx: Tx,
  platform: Means,
  { slot, detail }: { slot: SlotRow; detail: string },
): Promise<void> {
  const limits = await lockGroup(tx, slot.group_name);
  const before = await countSlots(tx, slot.group_name);
  const change = { state: 'failed', detail } as const;
  if (!(await changeSlot(tx, { id: slot.id, from: slot.state, change }))) return;
  const group = slot.group_name === '' ? null : slot.group_name;
  // Of an enrolled host its row of the queue tells.
  if (slot.client_id !== null) {
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'fleet_lock_changed', severity: 'error', component: 'reboots' },
      ...{ actor: 'server', content: { change: 'failed', group, client: slot.client_id } },
    });
  }
  const after = { ...before, failed: before.failed + 1 };
  if (isHalted(limits, before) || !isHalted(limits, after)) return;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'reboots_halted', severity: 'error', component: 'reboots', actor: 'server' },
    content: { group, failed: after.failed },
  });
}
