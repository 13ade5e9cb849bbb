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

/** Changes that are fetched one by one; with more of them the whole archive is read anew. */
const CHANGES_MAX = 5_000;
const BATCH = 50;
/** Records fetched at the same time. */
const CONCURRENT = 8;
const FUTURE_MS = 60_000;

export interface ChangesRequest extends ChangeSources {
  readonly progress: LoadProgress;
  /** Age from which decisions do not rest on data. */
  readonly maxAgeMs: number;
  readonly isStopped?: () => boolean;
}

export type ChangesOutcome =
  | { readonly kind: 'applied'; readonly changes: number }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'failed'; readonly cause: string };

/**
 * Brings what is in use up to the list of changes, oldest first: whatever stops it, all that is older than the mark is
 * there. Only when nothing is left does the snapshot become as new as the list.
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
  await dateAnew(platform, request, askedAtMs);
  return { kind: 'applied', changes: due.length };
}

/** Oldest first. Of those at the mark itself some were seen before. */
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
      // Nobody knows whom it affects: the snapshot does not become newer than it.
      if (found.kind === 'failed') fault = found.cause;
      else fetched.set(one.id, found);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  if (fault !== null) return fault;

  const reads = [...fetched.values()].flatMap(({ read }) => (read ? [read] : []));
  const records = reads.flatMap((read) => (read.kind === 'record' ? [read.record] : []));
  const bad = records.filter(({ fault: why, isWhole }) => why !== null && isWhole).length;
  const left = new Set([...fetched].filter(([, { kind }]) => kind === 'illegible').map(([id]) => id));
  const content = contentOf(changes, fetched);
  const dated = changes.filter(({ modifiedMs }) => modifiedMs <= platform.now() + FUTURE_MS).at(-1);
  const ids = changes.map(({ id }) => id);
  await platform.database.transact(async (tx) => {
    const now = await mine(platform, tx, progress);
    const before = await deleteRecords(tx, { loadId: now.loadId, ids });
    await insertRecords(tx, { loadId: now.loadId, records });
    const after = records.flatMap(({ entries }) => entries);
    // A stored "clear" of an hour ago must not outlive the advisory that came since: in the same transaction.
    const names = [...before, ...after]
      .filter(({ eco }) => baseOf(eco) === progress.base)
      .map(({ name }) => name);
    const expired = { base: progress.base, asOfMs: now.asOfMs };
    await expireChecks(tx, { ...expired, names });
    const modifiedMark = dated?.modified ?? now.modifiedMark;
    const sha256 = sha256Hex(`${now.sha256}\n${content}`);
    const illegible = now.illegible.filter((id) => left.has(id) || !fetched.has(id));
    await saveSnapshot(tx, { ...now, modifiedMark, sha256, badRecords: now.badRecords + bad, illegible });
    // What was not called clear for want of the last of them may be now.
    if (illegible.length < now.illegible.length) await expireChecks(tx, expired);
  });
  return null;
}

type Known = Exclude<FetchedChange, { kind: 'failed' }>;

/** What a batch brought: with the hash before, it gives the hash of the data as it is afterwards. */
function contentOf(changes: readonly Change[], fetched: ReadonlyMap<string, Known>): string {
  const hashes = changes.map(({ id }) => {
    const { kind, bytes } = fetched.get(id) ?? DELETED;
    return `${id} ${sha256Hex(bytes ?? kind)}`;
  });
  return hashes.join('\n');
}

const DELETED: Known = { kind: 'deleted', bytes: null, read: null };

type Tx = Parameters<typeof saveSnapshot>[0];

/** All that is in the list is there now: the data is of the time when the list was asked for. */
async function dateAnew(
  platform: Platform,
  { progress, maxAgeMs }: ChangesRequest,
  asOfMs: number,
): Promise<void> {
  const { base } = progress;
  await platform.database.transact(async (tx) => {
    const now = await mine(platform, tx, progress);
    await saveSnapshot(tx, { ...now, asOfMs, asOfKind: 'fetched' });
    await expireStandIns(tx, { base, asOfMs, isNew: wasUnusable(now, { asOfMs, maxAgeMs }) });
  });
}

/** The snapshot in use, held to the end of the transaction, while the claim is still ours. */
async function mine(platform: Platform, tx: Tx, { base, loadId }: LoadProgress): Promise<Snapshot> {
  const now = await lockSnapshot(tx, { base, engine: platform.database.engine });
  const at = { loadId, nowMs: platform.now(), phase: 'changes', done: 0, total: 0 };
  if (!now || !(await beat(tx, at))) throw new LoadLost(`the load of ${base} goes on elsewhere`);
  return now;
}
