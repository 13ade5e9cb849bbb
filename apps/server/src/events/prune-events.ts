import type { Platform } from '../platform/platform.ts';
import { appendEvent } from './append-event.ts';
import { pruneCutoffs } from './prune-rules.ts';
import {
  deleteCheckpointsBefore,
  deleteEventsUpTo,
  insertAnchor,
  lockHead,
  newestAnchor,
  nextAnchor,
  oldestEvent,
} from './store.ts';

/** Rows removed per transaction, which bounds how long others wait for the writer. */
const CHUNK = 1_000;

export interface PruneOptions {
  retentionDays: number;
  isStopped: () => boolean;
}

/**
 * Removes the oldest part of the log, up to a signed checkpoint that is itself older than the retention and
 * becomes the log's start. Newer events are never touched and no row is skipped, so the rest stays
 * verifiable. The anchor moves first: after a crash the next run continues. Returns how many events were
 * removed.
 */
export async function pruneEvents(platform: Platform, options: PruneOptions): Promise<number> {
  const { database } = platform;
  let removed = await removePruned(platform, options);
  const oldest = await oldestEvent(database.read);
  if (oldest === null || options.isStopped()) return removed;
  const nowMs = platform.now();
  const cutoffs = pruneCutoffs({ oldestMs: oldest.created_at, nowMs, retentionDays: options.retentionDays });
  if (cutoffs === null) return removed;
  const anchored = await database.transact(async (tx) => {
    // Replicas take turns.
    await lockHead(tx);
    const before = (await newestAnchor(tx))?.position ?? 0;
    const checkpoint = await nextAnchor(tx, { after: before, ...cutoffs });
    if (checkpoint === null) return false;
    const { position, hash, envelope } = checkpoint;
    await insertAnchor(tx, { position, hash, envelope, moved_at: nowMs });
    await appendEvent(tx, platform, {
      kind: 'system',
      type: 'events_pruned',
      severity: 'info',
      component: 'events',
      actor: 'server',
      content: { from_position: before + 1, to_position: position, retention_days: options.retentionDays },
    });
    return true;
  });
  if (anchored) removed += await removePruned(platform, options);
  return removed;
}

/** Removes everything up to the anchor, oldest first, a chunk at a time. */
async function removePruned({ database }: Platform, { isStopped }: PruneOptions): Promise<number> {
  const anchor = await newestAnchor(database.read);
  if (anchor === null) return 0;
  let removed = 0;
  while (!isStopped()) {
    const oldest = await oldestEvent(database.read);
    if (oldest === null || oldest.position > anchor.position) break;
    const until = Math.min(anchor.position, oldest.position + CHUNK - 1);
    removed += await database.transact((tx) => deleteEventsUpTo(tx, until));
  }
  await database.transact((tx) => deleteCheckpointsBefore(tx, anchor.position));
  return removed;
}
