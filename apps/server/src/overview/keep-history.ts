import { setImmediate as turn } from 'node:timers/promises';
import { HEARTBEAT_SLOTS } from '@tidegate/protocol/overview-api';
import { slotOf } from '../agents/heartbeat-rules.ts';
import { rfc3339Day } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { ageAt, oldestDay } from './day-rules.ts';
import { dropDaysBefore, writeDay, writeServedSlot } from './history-store.ts';
import type { Snapshots } from './keep-snapshots.ts';
import { verdictsOf } from './overview-view.ts';
import { type Snapshot, totalOf } from './take-snapshot.ts';
import { deletedHosts, exposedHosts, HOUR_MS } from './update-counts-store.ts';

/** Interval of counts without requests, so that the next request is answered immediately. */
const EVERY_MS = 60_000;

export interface HistoryDeps {
  platform: Platform;
  snapshots: Snapshots;
}

/** Records the state of the fleet each day, refreshed every hour, and that a server runs. */
export function createHistoryRecorder(deps: HistoryDeps): BackgroundWork {
  const { platform } = deps;
  const state: HistoryState = { hour: -1, slot: -1 };
  return repeat({
    intervalMs: EVERY_MS,
    run: () => guarded(platform, 'the history of the fleet was not written', () => keepHistory(deps, state)),
  });
}

/** The last written values, which are not written again. */
export interface HistoryState {
  hour: number;
  slot: number;
}

/** One run: writes what is due. */
export async function keepHistory({ platform, snapshots }: HistoryDeps, state: HistoryState): Promise<void> {
  const nowMs = platform.now();
  const slot = slotOf(nowMs);
  if (slot !== state.slot) {
    const keptFrom = slotOf(await retentionTime(platform)) - HEARTBEAT_SLOTS;
    await platform.database.transact((tx) => writeServedSlot(tx, { slot, keptFrom }));
    state.slot = slot;
  }
  const snapshot = await snapshots.count();
  const hour = Math.floor(snapshot.asOfMs / HOUR_MS);
  if (hour === state.hour) return;
  const keptFrom = oldestDay(await retentionTime(platform));
  const exposed_hosts = await countExposed(platform.database.read);
  await platform.database.transact(async (tx) => {
    await writeDay(tx, { ...dayRow(snapshot), exposed_hosts });
    await dropDaysBefore(tx, keptFrom);
  });
  state.hour = hour;
}

/** Existing hosts with a known fix that is not installed; other requests run between the parts. */
async function countExposed(db: Db): Promise<number> {
  const hosts = new Set<string>();
  for await (const some of exposedHosts(db)) {
    for (const id of some) hosts.add(id);
    await turn();
  }
  for await (const some of deletedHosts(db)) {
    for (const id of some) hosts.delete(id);
    await turn();
  }
  return hosts.size;
}

function dayRow({ asOfMs, updates, hosts }: Snapshot) {
  const verdicts = verdictsOf(updates);
  // The middle of the hour in which it was reported.
  const ages = updates.map(({ hour, updates: count }) => ({
    ageMs: Math.max(0, asOfMs - (hour + 0.5) * HOUR_MS),
    updates: count,
  }));
  return {
    day: rfc3339Day(asOfMs),
    as_of: asOfMs,
    open_clear: verdicts.clear,
    open_vulnerable: verdicts.vulnerable,
    open_unchecked: verdicts.unchecked,
    open_not_judged: verdicts.not_judged,
    exposed: totalOf(updates.filter(({ exposed }) => exposed)),
    median_age_ms: ageAt(0.5, ages),
    p95_age_ms: ageAt(0.95, ages),
    hosts_seen: hosts.seen,
  };
}
