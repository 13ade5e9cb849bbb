import { rfc3339 } from '../platform/clock.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { newestKeySet, readFleet, rootsAfter } from '../signing-keys/store.ts';
import { type EpochFile, memoryOf, writeEpochFile } from './epoch-file.ts';
import { judgeEpoch } from './epoch-rules.ts';
import { KEY_SETS_MAX, ROOTS_MAX, writeKeySetsFile } from './key-sets-file.ts';
import { type RecoverOutcome, readFacts, SERVER_GONE_MS } from './recover.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import {
  absentIds,
  forgetServers,
  IDS_MAX,
  newestKeySets,
  noteServer,
  raiseMark,
  readEventHead,
  revokedSince,
} from './store.ts';

/** How often the server records the state of the database, in milliseconds. */
export const KEEP_INTERVAL_MS = 30_000;
/** How much a search for revocations of other replicas overlaps the one before, in milliseconds. */
const OVERLAP_MS = 300_000;
const DAY_MS = 86_400_000;
/**
 * The lifetime of a token, the same again for its kept row, and a margin: older entries without a row are
 * dropped.
 */
export const JOURNAL_KEPT_MS = 210 * DAY_MS;

export interface RecoveryState extends Pick<BackgroundWork, 'start'> {
  /** Records the state of the database and adds revocations of other replicas to the journal. */
  record(): Promise<void>;
  /** The same, but logs a fault; the next run tries again. */
  recordOrWarn(): Promise<void>;
  /** Drops journal entries that no restore can make necessary again. */
  compact(): Promise<void>;
  /** Records the state once more and removes this server from the list of running ones. */
  stop(): Promise<void>;
}

export interface RecoveryStateDeps {
  /** The database without the journal: what is recorded here is not journaled again. */
  platform: Platform;
  dataDir: string;
  journal: RevocationJournal;
  /** Called for a restore under the running server: the new epoch begins at once. */
  onRestored: (file: EpochFile) => Promise<RecoverOutcome>;
}

export function createRecoveryState(deps: RecoveryStateDeps): RecoveryState {
  const { platform, dataDir, journal } = deps;
  const { database, log, now } = platform;
  const server = { id: platform.newId(), startedAtMs: now() };
  let last: EpochFile | null = null;
  let keptVersion = 0;
  let syncedMs = now() - JOURNAL_KEPT_MS;
  let running: Promise<void> = Promise.resolve();

  async function note(): Promise<EpochFile | null> {
    return database.transact(async (tx) => {
      const fleet = await readFleet(tx);
      if (!fleet) return null;
      const nowMs = now();
      const { mark } = await raiseMark(tx);
      await noteServer(tx, { ...server, seenAtMs: nowMs });
      await forgetServers(tx, { id: null, unseenSinceMs: nowMs - SERVER_GONE_MS });
      return {
        v: 1,
        fleet_id: fleet.fleet_id,
        epoch: fleet.epoch,
        mark,
        events: await readEventHead(tx),
        written_at: rfc3339(nowMs),
      } as const;
    });
  }

  /** Whether the database is a promoted standby or was restored under the running server. */
  async function isRestored(file: EpochFile): Promise<boolean> {
    const { facts } = await database.transact((tx) => readFacts(tx, { file, nowMs: now() }));
    return judgeEpoch(memoryOf(file), facts).kind === 'restored';
  }

  async function keepKeySets(): Promise<void> {
    const newest = (await newestKeySet(database.read))?.version ?? 0;
    if (newest === keptVersion) return;
    const key_sets = await newestKeySets(database.read, KEY_SETS_MAX);
    const roots = (await rootsAfter(database.read, 0)).slice(-ROOTS_MAX);
    writeKeySetsFile(dataDir, { key_sets, roots });
    keptVersion = newest;
  }

  async function sync(): Promise<void> {
    const startedMs = now();
    journal.append(await revokedSince(database.read, syncedMs));
    syncedMs = startedMs - OVERLAP_MS;
  }

  async function recordOnce(): Promise<void> {
    if (last && (await isRestored(last))) {
      const outcome = await deps.onRestored(last);
      if (!outcome.ok) {
        log.error('the database was restored under the running server and cannot be used', {
          fault: outcome.fault,
        });
        return;
      }
    }
    const file = await note();
    if (file) {
      writeEpochFile(dataDir, file);
      last = file;
    }
    await keepKeySets();
    await sync();
  }

  function record(): Promise<void> {
    running = running.then(recordOnce, recordOnce);
    return running;
  }

  /** Until it succeeds the file is behind the database, which does no harm. */
  async function recordOrWarn(): Promise<void> {
    try {
      await record();
    } catch (error) {
      if (!(error instanceof DatabaseFault) && !isFileFault(error)) throw error;
      log.error('the epoch file or the revocation journal could not be kept', { cause: error.message });
    }
  }

  const work = repeat({ intervalMs: KEEP_INTERVAL_MS, run: recordOrWarn });
  return {
    start: work.start,
    record,
    recordOrWarn,
    async compact() {
      const cutoffMs = (await retentionTime(platform)) - JOURNAL_KEPT_MS;
      const old = journal.entries().filter(({ atMs }) => atMs < cutoffMs);
      const gone = new Set<string>();
      for (let from = 0; from < old.length; from += IDS_MAX) {
        const part = old.slice(from, from + IDS_MAX);
        // Entries of API tokens and operators stay: they may live longer, and there are few.
        for (const kind of ['family', 'agent', 'deleted_agent', 'key'] as const) {
          const ids = part.filter((entry) => entry.kind === kind).map(({ id }) => id);
          if (ids.length === 0) continue;
          for (const id of await absentIds(database.read, { kind, ids })) gone.add(`${kind} ${id}`);
        }
      }
      if (gone.size === 0) return;
      const dropped = journal.compact(({ kind, id, atMs }) => atMs >= cutoffMs || !gone.has(`${kind} ${id}`));
      log.info('revocation journal compacted', { dropped });
    },
    async stop() {
      await work.stop();
      await recordOrWarn();
      try {
        await database.transact((tx) => forgetServers(tx, { id: server.id, unseenSinceMs: 0 }));
      } catch (error) {
        // Others ignore this server after SERVER_GONE_MS.
        if (!(error instanceof DatabaseFault)) throw error;
      }
    },
  };
}

function isFileFault(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
