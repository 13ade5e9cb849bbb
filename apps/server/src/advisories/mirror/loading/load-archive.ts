import { setImmediate as turn } from 'node:timers/promises';
import { appendEvent } from '../../../events/append-event.ts';
import { rfc3339 } from '../../../platform/clock.ts';
import type { Tx } from '../../../platform/db/engine.ts';
import type { Platform } from '../../../platform/platform.ts';
import {
  type MirrorRecord,
  readMirrorRecord,
  type Unreadable,
  unreadableReason,
} from '../records/record-rules.ts';
import { type AsOfKind, type Snapshot, UNREADABLE_MAX } from '../snapshot.ts';
import {
  deleteSomeOfLoad,
  expireChecks,
  findAbandonedLoads,
  insertRecords,
  lockAllSnapshots,
  readSnapshots,
  saveSnapshot,
} from '../store.ts';
import type { LoadProgress } from './load-progress.ts';
import { LoadLost } from './load-progress.ts';
import { logUnreadableRecords } from './log-unreadable-records.ts';
import { readZip, ZipFault, type ZipLimits } from './read-zip.ts';
import { beat } from './store.ts';

/** Rows per transaction: requests of hosts and operators run in between. */
const BATCH_ROWS = 500;
const BATCH_RECORDS = 200;
const DELETE_RECORDS = 200;
/** A load with a larger share of bad records is rejected; a few are always allowed. */
const BAD_SHARE_MAX = 0.01;
const BAD_ALWAYS = 3;
/** A load with less than this share of the records in use is rejected as an accident, or worse. */
const SHRINK_MIN_SHARE = 0.5;
/** A record dated further ahead does not date the snapshot, which would never grow old. */
const FUTURE_MS = 60_000;
/** Bad records named in the log. */
const NAMED_BAD = 5;

export interface ArchiveFile {
  readonly path: string;
  readonly source: string;
  readonly sha256: string;
}

export interface LoadRequest {
  readonly progress: LoadProgress;
  readonly archive: ArchiveFile;
  readonly releases: readonly string[];
  /** The operator's statement of the data's time; must not be before the newest record. */
  readonly statedAsOfMs?: number | null;
  /** Whether newer data stays in use, if it covers the same releases. */
  readonly keepsNewer?: boolean;
  /** An operator's correction: fewer records or older ones than the data in use are accepted, once confirmed. */
  readonly replaces?: Replacing;
  readonly limits?: ZipLimits;
  readonly isStopped?: () => boolean;
}

/** How many records are in use, and how many the file has. */
export interface RecordCounts {
  readonly inUse: number;
  readonly file: number;
}

export interface Replacing {
  /** The counts that the operator has confirmed; null: none yet. */
  readonly confirmed: RecordCounts | null;
  /** Who replaces the data, for the event. */
  readonly actor: string;
}

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly snapshot: Snapshot }
  /** The operator has not confirmed these counts: nothing has changed. */
  | { readonly kind: 'unconfirmed'; readonly counts: RecordCounts }
  | { readonly kind: 'failed'; readonly cause: string };

/**
 * Loads an archive into rows under a new number. They replace the data in use only after all of the archive was read and
 * found plausible; a process killed before that changes nothing.
 */
export async function loadArchive(platform: Platform, request: LoadRequest): Promise<LoadOutcome> {
  const { progress } = request;
  await removeAbandoned(platform);
  // It cannot change meanwhile: this process holds the load.
  const before = (await readSnapshots(platform.database.read)).get(progress.base) ?? null;
  const replaces = before === null ? null : (request.replaces ?? null);
  const read = await readAll(platform, request, { onlyCounts: replaces?.confirmed === null });
  if ('cause' in read) return { kind: 'failed', cause: read.cause };
  const cause = distrust(read, replaces ? null : before);
  if (cause !== null) return { kind: 'failed', cause };
  const dated = dateOf(read, request.statedAsOfMs ?? null);
  if (dated === null) return { kind: 'failed', cause: 'its newest record is younger than the given time' };
  const counts = { inUse: before?.records ?? 0, file: read.records };
  if (replaces && !isSameCounts(replaces.confirmed, counts)) return { kind: 'unconfirmed', counts };
  const isHeld = before !== null && request.releases.every((one) => before.releases.includes(one));
  if (request.keepsNewer && !replaces && isHeld && before.asOfMs > dated.asOfMs) {
    return { kind: 'failed', cause: 'the data in use is newer' };
  }
  const snapshot: Snapshot = {
    base: progress.base,
    loadId: progress.loadId,
    releases: request.releases,
    source: request.archive.source,
    modifiedMark: read.newest.modified,
    sha256: request.archive.sha256,
    ...dated,
    loadedAtMs: platform.now(),
    records: read.records,
    badRecords: read.bad,
    unreadable: read.unreadable,
  };
  await activateSnapshot(platform, snapshot, replaces && { ...replaces, counts, before });
  logUnreadableRecords(platform, snapshot);
  await removeAbandoned(platform);
  return { kind: 'loaded', snapshot };
}

function isSameCounts(confirmed: RecordCounts | null, { inUse, file }: RecordCounts): boolean {
  return confirmed !== null && confirmed.inUse === inUse && confirmed.file === file;
}

interface Read {
  readonly records: number;
  readonly bad: number;
  readonly unreadable: readonly string[];
  readonly newest: { readonly modified: string; readonly modifiedMs: number };
}

/** Reads the archive into rows; with `onlyCounts`, writes none. */
async function readAll(
  platform: Platform,
  request: LoadRequest,
  { onlyCounts }: { onlyCounts: boolean },
): Promise<Read | { cause: string }> {
  const { progress, archive, releases, limits, isStopped = () => false } = request;
  const seen = new Set<string>();
  let newest = { modified: '', modifiedMs: Number.NEGATIVE_INFINITY };
  let bad = 0;
  const unreadable: string[] = [];
  let batch: MirrorRecord[] = [];
  let rows = 0;
  async function flush(): Promise<void> {
    const records = batch;
    batch = [];
    rows = 0;
    if (onlyCounts) return;
    await platform.database.transact((tx) => insertRecords(tx, { loadId: progress.loadId, records }));
    await turn();
  }
  function logBadRecord(name: string, why: string): void {
    if (++bad > NAMED_BAD) return;
    const fields = { ecosystem: progress.base, record: name.slice(0, 100), why };
    platform.log.upstreamWarning('supply_chain advisory record cannot be read', fields);
  }
  try {
    for await (const { name, count, bytes } of readZip(archive.path, limits)) {
      if (isStopped()) return { cause: 'stopped' };
      const id = /^([^/]{1,256})\.json$/.exec(name)?.[1];
      if (id === undefined || seen.has(id)) return { cause: 'not an export of advisories' };
      seen.add(id);
      const answer = bytes ? readMirrorRecord(bytes, { id, releases }) : TOO_LARGE;
      if (unreadableReason(answer) !== null) unreadable.push(id);
      if (answer.kind === 'unreadable') {
        logBadRecord(name, answer.why);
      } else {
        const { record } = answer;
        if (record.fault !== null) logBadRecord(name, record.fault);
        const isDated = record.modifiedMs <= platform.now() + FUTURE_MS;
        if (isDated && record.modifiedMs > newest.modifiedMs) newest = record;
        if (record.entries.length > 0) batch.push(record);
        rows += record.entries.length;
      }
      if (rows >= BATCH_ROWS || batch.length >= BATCH_RECORDS) await flush();
      if (seen.size % BATCH_RECORDS === 0) await progress.at('reading', seen.size, count);
    }
    await flush();
  } catch (error) {
    if (error instanceof ZipFault) return { cause: error.message };
    throw error;
  }
  const { modified, modifiedMs } = newest;
  return { records: seen.size, bad, unreadable, newest: { modified, modifiedMs } };
}

const TOO_LARGE: Unreadable = { kind: 'unreadable', why: 'is too large for a record' };

/** Why a load is rejected; null when it is plausible. */
function distrust({ records, bad, unreadable, newest }: Read, before: Snapshot | null): string | null {
  if (records === 0 || newest.modified === '') return 'it holds no advisory';
  if (unreadable.length > UNREADABLE_MAX) return `${unreadable.length} records may speak of any package`;
  if (bad > Math.max(BAD_ALWAYS, records * BAD_SHARE_MAX))
    return `${bad} of ${records} records cannot be read`;
  if (before && records < before.records * SHRINK_MIN_SHARE) {
    return `it holds ${records} records, but ${before.records} are in use`;
  }
  return null;
}

/** Loading a file does not make it newer: it is as of its newest record, or the time that an operator states. */
function dateOf({ newest }: Read, statedMs: number | null): { asOfMs: number; asOfKind: AsOfKind } | null {
  if (statedMs === null) return { asOfMs: newest.modifiedMs, asOfKind: 'newest_record' };
  return statedMs < newest.modifiedMs ? null : { asOfMs: statedMs, asOfKind: 'stated' };
}

interface Replacement extends Replacing {
  readonly counts: RecordCounts;
  readonly before: Snapshot | null;
}

/** From now on, checks that rest on the replaced data are too old; after a correction also its findings. */
async function activateSnapshot(
  platform: Platform,
  snapshot: Snapshot,
  replacement: Replacement | null,
): Promise<void> {
  const { base, loadId, records } = snapshot;
  const { engine } = platform.database;
  await platform.database.transact(async (tx) => {
    // An answer that is being stored would outlive a first snapshot.
    await lockAllSnapshots(tx, { engine });
    const at = { loadId, nowMs: platform.now(), phase: 'activating', done: records, total: records };
    if (!(await beat(tx, at))) throw new LoadLost(`another process took over the load of ${base}`);
    await saveSnapshot(tx, snapshot);
    await expireChecks(tx, { base, asOfMs: replacement ? platform.now() : snapshot.asOfMs });
    if (replacement) await recordReplacement(tx, platform, snapshot, replacement);
  });
}

/** Fewer advisories mean fewer stops: who did it stays in the log. */
async function recordReplacement(
  tx: Tx,
  platform: Platform,
  { base, source, sha256, asOfMs }: Snapshot,
  { counts, before, actor }: Replacement,
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'system',
    type: 'advisories_replaced',
    severity: 'warning',
    component: 'advisories',
    actor,
    content: {
      ...{ ecosystem: base, source, sha256 },
      ...{ records_before: counts.inUse, records: counts.file },
      ...{ as_of_before: before && rfc3339(before.asOfMs), as_of: rfc3339(asOfMs) },
    },
  });
}

/** Deletes the rows of killed, failed and replaced loads. */
async function removeAbandoned(platform: Platform): Promise<void> {
  for (const loadId of await findAbandonedLoads(platform.database.read)) {
    const some = { loadId, limit: DELETE_RECORDS };
    while ((await platform.database.transact((tx) => deleteSomeOfLoad(tx, some))) > 0) await turn();
  }
}
