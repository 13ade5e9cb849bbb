import { setImmediate as turn } from 'node:timers/promises';
import type { Platform } from '../../../platform/platform.ts';
import {
  illegibleWhy,
  type MirrorRecord,
  readMirrorRecord,
  type Unreadable,
} from '../records/record-rules.ts';
import { type AsOfKind, ILLEGIBLE_MAX, type Snapshot } from '../snapshot.ts';
import {
  deleteSomeOfLoad,
  expireChecks,
  findAbandonedLoads,
  insertRecords,
  lockSnapshot,
  readSnapshots,
  saveSnapshot,
} from '../store.ts';
import type { LoadProgress } from './load-progress.ts';
import { LoadLost } from './load-progress.ts';
import { readZip, ZipFault, type ZipLimits } from './read-zip.ts';
import { beat } from './store.ts';
import { tellIllegible } from './tell-illegible.ts';

/** Rows that one transaction writes: the requests of hosts and operators go in between. */
const BATCH_ROWS = 500;
const BATCH_RECORDS = 200;
const DELETE_RECORDS = 200;
/** Of a load with more bad records than this nothing is believed: their share, and how many always pass. */
const BAD_SHARE_MAX = 0.01;
const BAD_ALWAYS = 3;
/** A load with less than this share of the records in use is an accident, or worse. */
const SHRINK_MIN_SHARE = 0.5;
/** A record from further ahead than this is not what the snapshot is dated by: it would never grow old. */
const FUTURE_MS = 60_000;
/** Bad records that the log names. */
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
  /** An operator's word for the time of the data; it counts where the newest record is not younger than it. */
  readonly statedAsOfMs?: number | null;
  /** Whether data that is newer stays in use, where it holds the same releases. */
  readonly keepsNewer?: boolean;
  readonly limits?: ZipLimits;
  readonly isStopped?: () => boolean;
}

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly snapshot: Snapshot }
  | { readonly kind: 'failed'; readonly cause: string };

/**
 * Reads an archive into rows of its own number and puts them in the place of what is in use only when all of it was
 * read and can be believed; a process that is killed before leaves everything as it was.
 */
export async function loadArchive(platform: Platform, request: LoadRequest): Promise<LoadOutcome> {
  const { progress } = request;
  await removeAbandoned(platform);
  const read = await readAll(platform, request);
  if ('cause' in read) return { kind: 'failed', cause: read.cause };
  const before = (await readSnapshots(platform.database.read)).get(progress.base) ?? null;
  const cause = distrust(read, before);
  if (cause !== null) return { kind: 'failed', cause };
  const dated = dateOf(read, request.statedAsOfMs ?? null);
  if (dated === null)
    return { kind: 'failed', cause: 'its newest record is younger than the time that was given' };
  const isHeld = before !== null && request.releases.every((one) => before.releases.includes(one));
  if (request.keepsNewer && isHeld && before.asOfMs > dated.asOfMs) {
    return { kind: 'failed', cause: 'what is in use is of a later time' };
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
    illegible: read.illegible,
  };
  await takeIntoUse(platform, snapshot);
  tellIllegible(platform, snapshot);
  await removeAbandoned(platform);
  return { kind: 'loaded', snapshot };
}

interface Read {
  readonly records: number;
  readonly bad: number;
  readonly illegible: readonly string[];
  readonly newest: { readonly modified: string; readonly modifiedMs: number };
}

async function readAll(platform: Platform, request: LoadRequest): Promise<Read | { cause: string }> {
  const { progress, archive, releases, limits, isStopped = () => false } = request;
  const seen = new Set<string>();
  let newest = { modified: '', modifiedMs: Number.NEGATIVE_INFINITY };
  let bad = 0;
  const illegible: string[] = [];
  let batch: MirrorRecord[] = [];
  let rows = 0;
  async function flush(): Promise<void> {
    const records = batch;
    batch = [];
    rows = 0;
    await platform.database.transact((tx) => insertRecords(tx, { loadId: progress.loadId, records }));
    await turn();
  }
  function tellBad(name: string, why: string): void {
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
      if (illegibleWhy(answer) !== null) illegible.push(id);
      if (answer.kind === 'unreadable') {
        tellBad(name, answer.why);
      } else {
        const { record } = answer;
        if (record.fault !== null) tellBad(name, record.fault);
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
  return { records: seen.size, bad, illegible, newest: { modified, modifiedMs } };
}

const TOO_LARGE: Unreadable = { kind: 'unreadable', why: 'is larger than a record may be' };

/** Why a load is not believed; null where it is. */
function distrust({ records, bad, illegible, newest }: Read, before: Snapshot | null): string | null {
  if (records === 0 || newest.modified === '') return 'it holds no advisory';
  if (illegible.length > ILLEGIBLE_MAX) return `${illegible.length} records may speak of any package`;
  if (bad > Math.max(BAD_ALWAYS, records * BAD_SHARE_MAX))
    return `${bad} of ${records} records cannot be read`;
  if (before && records < before.records * SHRINK_MIN_SHARE) {
    return `it holds ${records} records where ${before.records} are in use`;
  }
  return null;
}

/** Reading a file makes nothing newer: it is of the time of its newest record, or of that which an operator states. */
function dateOf({ newest }: Read, statedMs: number | null): { asOfMs: number; asOfKind: AsOfKind } | null {
  if (statedMs === null) return { asOfMs: newest.modifiedMs, asOfKind: 'newest_record' };
  return statedMs < newest.modifiedMs ? null : { asOfMs: statedMs, asOfKind: 'stated' };
}

/** Checks that rest on what was in use before are too old from that moment on. */
async function takeIntoUse(platform: Platform, snapshot: Snapshot): Promise<void> {
  const { base, loadId, records } = snapshot;
  const { engine } = platform.database;
  await platform.database.transact(async (tx) => {
    await lockSnapshot(tx, { base, engine });
    const at = { loadId, nowMs: platform.now(), phase: 'taking into use', done: records, total: records };
    if (!(await beat(tx, at))) throw new LoadLost(`the load of ${base} goes on elsewhere`);
    await saveSnapshot(tx, snapshot);
    await expireChecks(tx, { base, asOfMs: snapshot.asOfMs });
  });
}

/** What killed, failed and replaced loads left behind. */
async function removeAbandoned(platform: Platform): Promise<void> {
  for (const loadId of await findAbandonedLoads(platform.database.read)) {
    const some = { loadId, limit: DELETE_RECORDS };
    while ((await platform.database.transact((tx) => deleteSomeOfLoad(tx, some))) > 0) await turn();
  }
}
