import type { Platform } from '../../../platform/platform.ts';
import { sha256Hex } from '../../../platform/sha256.ts';
import type { RecordAnswer } from '../../osv-client.ts';
import { type MirrorRecord, readMirrorRecord, unreadableReason } from '../records/record-rules.ts';
import type { Snapshot } from '../snapshot.ts';
import {
  deleteRecords,
  expireChecks,
  insertRecords,
  lockSnapshot,
  readSnapshots,
  saveSnapshot,
} from '../store.ts';
import { LoadLost, type LoadProgress } from './load-progress.ts';
import { logUnreadableRecords } from './log-unreadable-records.ts';
import { beat } from './store.ts';

/** Failed fetches after which the rest waits for the next round. */
const FAILURES_MAX = 3;

export interface RefetchRequest {
  readonly progress: LoadProgress;
  readonly fetchFromApi: (id: string) => Promise<RecordAnswer>;
  readonly isStopped?: () => boolean;
}

/**
 * Fetches from the API the records that were unreadable in the export, and replaces them. Records unreadable in both stay
 * marked, and the next round tries again, beginning with those that this one did not ask for.
 */
export async function refetchUnreadableRecords(platform: Platform, request: RefetchRequest): Promise<void> {
  const { progress, fetchFromApi, isStopped = () => false } = request;
  const snapshot = (await readSnapshots(platform.database.read)).get(progress.base);
  if (!snapshot || snapshot.unreadable.length === 0) return;
  const refetched = new Map<string, { record: MirrorRecord; sha256: string }>();
  const asked = new Set<string>();
  let failures = 0;
  for (const [index, id] of snapshot.unreadable.entries()) {
    if (isStopped() || failures >= FAILURES_MAX) break;
    await progress.at('unreadable records', index, snapshot.unreadable.length);
    const answer = await fetchFromApi(id);
    asked.add(id);
    if (answer.kind === 'unreachable') failures += 1;
    if (answer.kind !== 'record') continue;
    const bytes = Buffer.from(answer.text);
    const read = readMirrorRecord(bytes, { id, releases: snapshot.releases });
    if (read.kind === 'unreadable' || unreadableReason(read) !== null) continue;
    refetched.set(id, { record: read.record, sha256: sha256Hex(bytes) });
  }
  const isCutShort = asked.size > 0 && asked.size < snapshot.unreadable.length;
  if (refetched.size > 0 || isCutShort) await put(platform, progress, { snapshot, refetched, asked });
  logUnreadableRecords(platform, {
    base: progress.base,
    unreadable: snapshot.unreadable.filter((id) => !refetched.has(id)),
  });
}

async function put(
  platform: Platform,
  { base, loadId }: LoadProgress,
  {
    snapshot,
    refetched,
    asked,
  }: {
    snapshot: Snapshot;
    refetched: ReadonlyMap<string, { record: MirrorRecord; sha256: string }>;
    asked: ReadonlySet<string>;
  },
): Promise<void> {
  const ids = [...refetched.keys()];
  const records = [...refetched.values()].map(({ record }) => record);
  await platform.database.transact(async (tx) => {
    const now = await lockSnapshot(tx, { base, engine: platform.database.engine });
    const at = {
      loadId,
      nowMs: platform.now(),
      phase: 'unreadable records',
      done: ids.length,
      total: ids.length,
    };
    if (now?.sha256 !== snapshot.sha256 || now.loadId !== snapshot.loadId || !(await beat(tx, at))) {
      throw new LoadLost(`another process took over the load of ${base}`);
    }
    const left = now.unreadable.filter((id) => !refetched.has(id));
    // Those that were asked for go to the end, so that none waits behind others for ever.
    const unreadable = [...left.filter((id) => !asked.has(id)), ...left.filter((id) => asked.has(id))];
    if (ids.length === 0) return saveSnapshot(tx, { ...now, unreadable });
    await deleteRecords(tx, { loadId: now.loadId, ids });
    await insertRecords(tx, { loadId: now.loadId, records });
    const content = [...refetched].map(([id, { sha256 }]) => `${id} ${sha256}`).join('\n');
    const badRecords = Math.max(0, now.badRecords - ids.length);
    await saveSnapshot(tx, {
      ...now,
      unreadable,
      badRecords,
      sha256: sha256Hex(`${now.sha256}\n${content}`),
    });
    // Packages that only these records kept from "clear" may be clear now; packages they name must not stay clear.
    await expireChecks(tx, { base, asOfMs: now.asOfMs });
  });
}
