import type { Config } from '../config.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyFolder } from '../signing-keys/key-folder.ts';
import { heldPublicKeys } from '../signing-keys/recall-keys.ts';
import { type EpochFile, readEpochFile } from './epoch-file.ts';
import { journaledDatabase } from './journaled-database.ts';
import { readKeySetsFile } from './key-sets-file.ts';
import { recover } from './recover.ts';
import { createRecoveryState, type RecoveryState } from './recovery-state.ts';
import { openJournal, type RevocationJournal } from './revocation-journal.ts';

/** The open files with which a server recovers from a restore of its database. */
export interface Recovery {
  /** The database to use: its revocations are in the journal before their commit. */
  database: Database;
  journal: RevocationJournal;
  state: RecoveryState;
  /** Sets what reloads the key ring after a restore under the running server. */
  whenRestored(reload: () => Promise<void>): void;
  close(): Promise<void>;
}

export type OpenRecovery = { ok: true; recovery: Recovery } | { ok: false; fault: string };

interface RecoverySources {
  config: Pick<Config, 'dataDir' | 'signingPrivateKey' | 'signingPreviousPrivateKey'>;
  keyFolder: Pick<KeyFolder, 'readAll'>;
}

/**
 * Reads the epoch file, the key sets and the journal, and compares the migrated database of `platform` with
 * them. Leaves nothing open if it refuses.
 */
export async function openRecovery(platform: Platform, parts: RecoverySources): Promise<OpenRecovery> {
  const { dataDir } = parts.config;
  const epoch = readEpochFile(dataDir);
  if (!epoch.ok) return epoch;
  const opened = openJournal(dataDir);
  if (!opened.ok) return opened;
  const { journal, tornBytes } = opened;
  if (tornBytes > 0) {
    platform.log.warn('the last line of the revocation journal was cut short by a crash; it is left out', {
      bytes: tornBytes,
    });
  }
  const recoverFrom = async (file: EpochFile | null) => {
    const read = readKeySetsFile(dataDir);
    if (!read.ok) return read;
    const held = heldPublicKeys(parts.config, parts.keyFolder);
    return recover(platform, { file, keys: read.remembered, journal, held });
  };
  const recovered = await recoverFrom(epoch.file);
  if (!recovered.ok) {
    journal.close();
    return recovered;
  }
  let reload = async () => {};
  const state = createRecoveryState({
    platform,
    dataDir,
    journal,
    async onRestored(file) {
      const outcome = await recoverFrom(file);
      if (outcome.ok) await reload();
      return outcome;
    },
  });
  return {
    ok: true,
    recovery: {
      database: journaledDatabase(platform.database, { journal, onKeySet: state.recordOrWarn }),
      journal,
      state,
      whenRestored(again) {
        reload = again;
      },
      async close() {
        await state.stop();
        journal.close();
      },
    },
  };
}
