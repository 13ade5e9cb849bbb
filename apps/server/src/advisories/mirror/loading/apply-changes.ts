import type { Platform } from '../../../platform/platform.ts';
import { sha256Hex } from '../../../platform/sha256.ts';
import { baseOf, type Snapshot, wasUnusable } from '../snapshot.ts';
import {
  deleteRecords,
  expireChecks,
  expireStandIns,
  insertRecords,
  lockSnapshot,
  readRecords,
  readSnapshots,
  saveSnapshot,
} from '../store.ts';
import type { Change } from './export-client.ts';
import { type ChangeSources, type FetchedChange, fetchChange } from './fetch-change.ts';
import { LoadLost, type LoadProgress } from './load-progress.ts';
import { beat } from './store.ts';

/** Changes fetched one by one; beyond it the whole archive is loaded again. */
const CHANGES_MAX = 5_000;
const BATCH = 50;
/** Records fetched in parallel. */
const CONCURRENT = 8;
const FUTURE_MS = 60_000;

export interface ChangesRequest extends ChangeSources {
  readonly progress: LoadProgress;
  /** Age from which decisions reject data. */
  readonly maxAgeMs: number;
  readonly isStopped?: () => boolean;
}

export type ChangesOutcome =
  | { readonly kind: 'applied'; readonly changes: number }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'failed'; readonly cause: string };

/**
 * Applies the list of changes to the data in use, oldest first, so that an interruption leaves everything older than the
 * mark applied. The snapshot becomes as new as the list only when no change is left.
 */
export async function applyChanges(platform: Platform, request: ChangesRequest): Promise<ChangesOutcome> {
  const { progress, client, isStopped = () => false } = request;
  const { base } = progress;
  const snapshot = (await readSnapshots(platform.database.read)).get(base);
  if (!snapshot) return { kind: 'too_many' };
  const askedAtMs = platform.now();
  const sinceMs = Date.parse(snapshot.modifiedMark);
  const listed = await client.listChanges(base, { sinceMs, most: CHANGES_MAX });
  if (!listed.ok) return { kind: 'failed', cause: listed.cause };
  if (listed.value.tooMany) return { kind: 'too_many' };
  const due = await notYetStored(platform, snapshot, listed.value.changes);
  for (let i = 0; i < due.length; i += BATCH) {
    if (isStopped()) return { kind: 'failed', cause: 'stopped' };
    await progress.at('changes', i, due.length);
    const fault = await applySome(platform, request, { snapshot, changes: due.slice(i, i + BATCH) });
    if (fault !== null) return { kind: 'failed', cause: fault };
  }
  await advanceAsOf(platform, request, askedAtMs);
  return { kind: 'applied', changes: due.length };
}

/** Oldest first. Some of those at the mark itself may be stored already. */
async function notYetStored(
  platform: Platform,
  { loadId, modifiedMark }: Snapshot,
  changes: readonly Change[],
): Promise<Change[]> {
  const markMs = Date.parse(modifiedMark);
  const atMark = changes.filter(({ modifiedMs }) => modifiedMs === markMs).map(({ id }) => id);
  const stored = await readRecords(platform.database.read, { loadId, ids: atMark });
  const known = new Set(stored.filter(({ modified }) => Date.parse(modified) === markMs).map(({ id }) => id));
  return changes
    .filter(({ id, modifiedMs }) => modifiedMs > markMs || !known.has(id))
    .toSorted((a, b) => a.modifiedMs - b.modifiedMs);
}

async function applySome(
  platform: Platform,
  { progress, ...sources }: ChangesRequest,
  { snapshot, changes }: { snapshot: Snapshot; changes: readonly Change[] },
): Promise<string | null> {
  const fetched = new Map<string, Known>();
  const queue = [...changes];
  let fault: string | null = null;
  async function work(): Promise<void> {
    for (let one = queue.shift(); one !== undefined && fault === null; one = queue.shift()) {
      const found = await fetchChange(sources, { snapshot, id: one.id });
      // It may affect any package: the snapshot must not become newer than this record.
      if (found.kind === 'failed') fault = found.cause;
      else fetched.set(one.id, found);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  if (fault !== null) return fault;

  const reads = [...fetched.values()].flatMap(({ read }) => (read ? [read] : []));
  const records = reads.flatMap((read) => (read.kind === 'record' ? [read.record] : []));
  const bad = records.filter(({ fault: why, isWhole }) => why !== null && isWhole).length;
  const left = new Set([...fetched].filter(([, { kind }]) => kind === 'unreadable').map(([id]) => id));
  const content = contentOf(changes, fetched);
  const dated = changes.filter(({ modifiedMs }) => modifiedMs <= platform.now() + FUTURE_MS).at(-1);
  const ids = changes.map(({ id }) => id);
  await platform.database.transact(async (tx) => {
    const now = await lockClaimed(platform, tx, progress);
    const before = await deleteRecords(tx, { loadId: now.loadId, ids });
    await insertRecords(tx, { loadId: now.loadId, records });
    const after = records.flatMap(({ entries }) => entries);
    // In the same transaction: an earlier stored "clear" must not outlive the new advisory.
    const names = [...before, ...after]
      .filter(({ eco }) => baseOf(eco) === progress.base)
      .map(({ name }) => name);
    const expired = { base: progress.base, asOfMs: now.asOfMs };
    await expireChecks(tx, { ...expired, names });
    const modifiedMark = dated?.modified ?? now.modifiedMark;
    const sha256 = sha256Hex(`${now.sha256}\n${content}`);
    const unreadable = now.unreadable.filter((id) => left.has(id) || !fetched.has(id));
    await saveSnapshot(tx, { ...now, modifiedMark, sha256, badRecords: now.badRecords + bad, unreadable });
    // Packages that only these records kept from "clear" may be clear now.
    if (unreadable.length < now.unreadable.length) await expireChecks(tx, expired);
  });
  return null;
}

type Known = Exclude<FetchedChange, { kind: 'failed' }>;

/** What a batch changed: hashed together with the previous hash, it gives the new hash of the data. */
function contentOf(changes: readonly Change[], fetched: ReadonlyMap<string, Known>): string {
  const hashes = changes.map(({ id }) => {
    const { kind, bytes } = fetched.get(id) ?? DELETED;
    return `${id} ${sha256Hex(bytes ?? kind)}`;
  });
  return hashes.join('\n');
}

const DELETED: Known = { kind: 'deleted', bytes: null, read: null };

type Tx = Parameters<typeof saveSnapshot>[0];

/** Everything in the list is applied: the data is as of the time when the list was requested. */
async function advanceAsOf(
  platform: Platform,
  { progress, maxAgeMs }: ChangesRequest,
  asOfMs: number,
): Promise<void> {
  const { base } = progress;
  await platform.database.transact(async (tx) => {
    const now = await lockClaimed(platform, tx, progress);
    await saveSnapshot(tx, { ...now, asOfMs, asOfKind: 'fetched' });
    await expireStandIns(tx, { base, asOfMs, isNew: wasUnusable(now, { asOfMs, maxAgeMs }) });
  });
}

/** The snapshot in use, locked until the transaction ends, if this load still holds the claim. */
async function lockClaimed(platform: Platform, tx: Tx, { base, loadId }: LoadProgress): Promise<Snapshot> {
  const now = await lockSnapshot(tx, { base, engine: platform.database.engine });
  const at = { loadId, nowMs: platform.now(), phase: 'changes', done: 0, total: 0 };
  if (!now || !(await beat(tx, at))) throw new LoadLost(`another process took over the load of ${base}`);
  return now;
}
