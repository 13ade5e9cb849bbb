import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { aheadTime } from '../platform/retention/retention-clock.ts';
import type { SlotRow } from '../reboot-slots/store.ts';
import { expireReboots } from './end-reboot.ts';
import { RETRY_MAX_MS } from './progress-rules.ts';
import { changeSlot, slotsAhead } from './slots-store.ts';
import { askAt, changeReboot, offersAhead, rebootsAhead } from './store.ts';

/** Rows that one turn takes back; the next one continues. */
const BATCH = 500;

type Means = Pick<Platform, 'database' | 'newId' | 'now'>;

/** Undoes what a clock that was ahead has written, once it is set back and believed: it would count when that time comes. */
export async function takeBackAhead(platform: Means): Promise<void> {
  const aheadMs = await aheadTime(platform);
  if (aheadMs === null) return;
  await takeBackQueued(platform, aheadMs);
  await countGivenFromNow(platform, aheadMs);
}

/**
 * Ends what was asked for while the clock was ahead: its deadline is of that time. What was asked for before, and was put off
 * then, is due now.
 */
async function takeBackQueued({ database, ...means }: Means, aheadMs: number): Promise<void> {
  const rows = await rebootsAhead(database.read, { aheadMs, retryMaxMs: RETRY_MAX_MS, limit: BATCH });
  if (rows.length === 0) return;
  const detail = 'the clock of the server was ahead when it was asked for';
  const asked = rows.filter((row) => row.asked_at > aheadMs).map((row) => ({ ...row, detail }));
  const ids = rows.filter((row) => row.asked_at <= aheadMs).map(({ id }) => id);
  await database.transact(async (tx) => {
    await expireReboots(tx, means, asked);
    await askAt(tx, { ids, timeMs: means.now() });
  });
}

/** A host that is down may be so for as long as any other, and no longer. */
async function countGivenFromNow({ database, now }: Means, aheadMs: number): Promise<void> {
  const slots = await slotsAhead(database.read, { aheadMs, limit: BATCH });
  const offers = await offersAhead(database.read, { aheadMs, limit: BATCH });
  if (slots.length + offers.length === 0) return;
  await database.transact(async (tx) => {
    for (const slot of slots) await countSlotFromNow(tx, slot, now());
    for (const { id, command_id: command } of offers) {
      await changeReboot(tx, { id, command, change: { offered_at: now() } });
    }
  });
}

async function countSlotFromNow(tx: Tx, slot: SlotRow, nowMs: number): Promise<void> {
  const { id, state: from, taken_at, back_at, ends_at } = slot;
  const endsAtMs = nowMs + ends_at - (back_at ?? taken_at);
  const since = back_at === null ? { taken_at: nowMs } : { back_at: nowMs };
  await changeSlot(tx, { id, from, change: { ...since, ends_at: endsAtMs } });
}
