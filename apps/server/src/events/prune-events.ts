import { ANCHOR_TYPE, type AnchorPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { appendEvent } from './append-event.ts';
import { statementSha256 } from './beginning.ts';
import type { CheckpointSigner } from './make-checkpoint.ts';
import { type CheckpointKeys, openCheckpoint } from './open-checkpoint.ts';
import { pruneCutoffs } from './prune-rules.ts';
import {
  type AnchorRow,
  type CheckpointRow,
  deleteCheckpointsBefore,
  deleteEventsUpTo,
  insertAnchor,
  lockHead,
  newestAnchor,
  nextAnchor,
  oldestEvent,
  pageOfEvents,
} from './store.ts';
import { verifyPart } from './verify-part.ts';

/** Rows removed per transaction, which bounds how long others wait for the writer. */
const CHUNK = 1_000;

export interface Removing {
  signer: CheckpointSigner;
  /** Keys that may have signed the checkpoint up to which events are removed. */
  trusted: CheckpointKeys;
  isStopped: () => boolean;
}

export interface Removed {
  /** Rows that this call removed. */
  removed: number;
  /** Why no more may be removed; null if nothing is wrong. */
  refused: string | null;
}

/**
 * Removes the oldest part of the log, up to a signed checkpoint that is itself older than the retention. Newer events are
 * never touched and no row is skipped, so the rest stays verifiable. After a crash the next run continues.
 */
export async function pruneEvents(
  platform: Platform,
  { retentionDays, ...how }: Removing & { retentionDays: number },
): Promise<Removed> {
  const { read } = platform.database;
  const finished = await finishRemoval(platform, how);
  const oldest = await oldestEvent(read);
  if (oldest === null || how.isStopped()) return { removed: finished, refused: null };
  const nowMs = await retentionTime(platform);
  const cutoffs = pruneCutoffs({ oldestMs: oldest.created_at, nowMs, retentionDays });
  const after = (await newestAnchor(read))?.position ?? 0;
  const checkpoint = cutoffs && (await nextAnchor(read, { after, ...cutoffs }));
  if (cutoffs === null || checkpoint === null) return { removed: finished, refused: null };
  const signedBeforeMs = cutoffs.keptSinceMs;
  const outcome = await removeEvents(platform, how, {
    ...{ checkpoint, signedBeforeMs, by: 'server', retentionDays },
  });
  return { ...outcome, removed: finished + outcome.removed };
}

export interface Wanted {
  /** The last event to remove. */
  checkpoint: CheckpointRow;
  /** The checkpoint has to be signed no later: columns of the database prove no age. */
  signedBeforeMs: number;
  by: string;
  /** Null if no retention asks for it. */
  retentionDays: number | null;
}

/**
 * Moves the beginning of the log behind a checkpoint, and removes what is before it. The removed part has to verify: what
 * somebody has changed stays as it is found. The anchor, which states the removal, is signed and stored first.
 */
export async function removeEvents(platform: Platform, how: Removing, wanted: Wanted): Promise<Removed> {
  const { database, now } = platform;
  const before = await newestAnchor(database.read);
  const finished = async () => ({ removed: await finishRemoval(platform, how), refused: null });
  // Another removal has come first.
  if (before !== null && before.position >= wanted.checkpoint.position) return finished();
  const judged = await judgePart(database.read, { before, wanted, trusted: how.trusted });
  if (!judged.ok) {
    // Rows that another removal takes meanwhile are no fault of the log: it has verified them.
    const isMoved = (await newestAnchor(database.read))?.position !== before?.position;
    return isMoved ? finished() : { removed: 0, refused: judged.detail };
  }
  await database.transact(async (tx) => {
    // Replicas take turns.
    const head = await lockHead(tx);
    const newest = await newestAnchor(tx);
    if (newest?.position !== before?.position || head.hash === null) return;
    const { position, hash } = wanted.checkpoint;
    const payload: AnchorPayload = {
      v: 1,
      ...{ fleet_id: how.signer.fleetId, epoch: how.signer.epoch(), position, hash },
      first_position: (before?.position ?? 0) + 1,
      first_at: rfc3339Seconds(judged.firstAtMs),
      last_at: rfc3339Seconds(judged.lastAtMs),
      head: { position: head.position, hash: head.hash },
      previous_sha256: statementSha256(before),
      removed_by: wanted.by,
      retention_days: wanted.retentionDays,
      created_at: rfc3339Seconds(now()),
    };
    await storeAnchor(tx, platform, { payload, signer: how.signer, checkpoint: wanted.checkpoint });
  });
  return finished();
}

type Judged = { ok: true; firstAtMs: number; lastAtMs: number } | { ok: false; detail: string };

async function judgePart(
  db: Db,
  { before, wanted, trusted }: { before: AnchorRow | null; wanted: Wanted; trusted: CheckpointKeys },
): Promise<Judged> {
  const { position, hash, envelope } = wanted.checkpoint;
  const parsed = parseStrictJson(envelope);
  const opened = openCheckpoint(parsed.ok ? parsed.value : null, { trusted, place: 'in the database' });
  if (!opened.ok) return { ok: false, detail: opened.detail };
  const isSame = opened.pin.position === position && opened.pin.hash === hash;
  if (!isSame || opened.createdAtMs > wanted.signedBeforeMs)
    return { ok: false, detail: `the checkpoint at position ${position} is not what was signed` };
  const after = before?.position ?? 0;
  const part = await verifyPart((range) => pageOfEvents(db, range), { after, until: position, pinned: [] });
  const [first] = await pageOfEvents(db, { after, until: null, limit: 1 });
  const [last] = await pageOfEvents(db, { after: position - 1, until: null, limit: 1 });
  const isWhole = part !== null && part.from.hash === (before?.hash ?? null) && part.to.hash === hash;
  if (!isWhole || !first || !last)
    return { ok: false, detail: `the events ${after + 1} to ${position} do not verify` };
  return { ok: true, firstAtMs: first.created_at, lastAtMs: last.created_at };
}

async function storeAnchor(
  tx: Tx,
  platform: Platform,
  {
    payload,
    signer,
    checkpoint,
  }: { payload: AnchorPayload; signer: CheckpointSigner; checkpoint: CheckpointRow },
): Promise<void> {
  const signed = signer.signer().sign(ANCHOR_TYPE, Buffer.from(JSON.stringify(payload)));
  const { position, hash, envelope } = checkpoint;
  const moved_at = platform.now();
  await insertAnchor(tx, { position, hash, envelope, moved_at, statement: JSON.stringify(signed) });
  const { first_position: from_position, removed_by, retention_days } = payload;
  await appendEvent(tx, platform, {
    kind: 'system',
    type: 'events_pruned',
    severity: retention_days === null ? 'warning' : 'info',
    component: 'events',
    actor: removed_by,
    content: {
      from_position,
      to_position: position,
      ...(retention_days === null ? { removed_by } : { retention_days }),
    },
  });
}

/** Removes everything up to the anchor, oldest first, a chunk at a time; returns how many rows. */
export async function finishRemoval(
  { database }: Platform,
  { isStopped }: Pick<Removing, 'isStopped'>,
): Promise<number> {
  const anchor = await newestAnchor(database.read);
  const first = await oldestEvent(database.read);
  if (anchor === null || first === null || first.position > anchor.position) return 0;
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
