import { rfc3339 } from '../platform/clock.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
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

/** How often the server writes down how far it has come, in milliseconds. */
export const KEEP_INTERVAL_MS = 30_000;
/** How far back a look for what other replicas revoked goes beyond the one before, in milliseconds. */
const OVERLAP_MS = 300_000;
const DAY_MS = 86_400_000;
/** Life of a token, as long again for which its row is kept, and a margin: an older entry of a row that is gone goes. */
export const JOURNAL_KEPT_MS = 210 * DAY_MS;

export interface MemoryKeeper extends Pick<BackgroundWork, 'start'> {
  /** Writes down how far the database has come; what other replicas revoked goes into the journal. */
  keep(): Promise<void>;
  /** The same, where the work goes on all the same: what fails is logged, and tried again at the next turn. */
  keepOrWarn(): Promise<void>;
  /** Drops entries of the journal that nothing can bring back any more. */
  compact(): Promise<void>;
  /** Keeps once more and forgets that this server runs. */
  stop(): Promise<void>;
}

export interface KeeperDeps {
  /** The plain database: what is kept here is not journaled again. */
  platform: Platform;
  dataDir: string;
  journal: RevocationJournal;
  /** A restore under the running server: the new epoch begins at once. */
  onRestored: (file: EpochFile) => Promise<RecoverOutcome>;
}

export function createMemoryKeeper(deps: KeeperDeps): MemoryKeeper {
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

  /** A promoted standby, or a database that was put back under us. */
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

  async function keepOnce(): Promise<void> {
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

  function keep(): Promise<void> {
    running = running.then(keepOnce, keepOnce);
    return running;
  }

  /** Until it succeeds the file says less than is true, which does no harm. */
  async function keepOrWarn(): Promise<void> {
    try {
      await keep();
    } catch (error) {
      if (!(error instanceof DatabaseFault) && !isFileFault(error)) throw error;
      log.error('the epoch file or the revocation journal could not be kept', { cause: error.message });
    }
  }

  const work = repeat({ intervalMs: KEEP_INTERVAL_MS, run: keepOrWarn });
  return {
    start: work.start,
    keep,
    keepOrWarn,
    async compact() {
      const cutoffMs = now() - JOURNAL_KEPT_MS;
      const old = journal.entries().filter(({ atMs }) => atMs < cutoffMs);
      const gone = new Set<string>();
      for (let from = 0; from < old.length; from += IDS_MAX) {
        const part = old.slice(from, from + IDS_MAX);
        // API tokens and operators may live longer than this, and people make few: those entries stay.
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
      await keepOrWarn();
      try {
        await database.transact((tx) => forgetServers(tx, { id: server.id, unseenSinceMs: 0 }));
      } catch (error) {
        // It is forgotten by itself after SERVER_GONE_MS.
        if (!(error instanceof DatabaseFault)) throw error;
      }
    },
  };
}

function isFileFault(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
