import { markFamilyRevoked } from '../agent-credentials/store.ts';
import type { CommitSteps } from '../platform/db/engine.ts';
import { openDatabase } from '../platform/db/open.ts';
import { journaledDatabase } from '../restore/journaled-database.ts';
import { openJournal } from '../restore/revocation-journal.ts';
import { databaseOptions } from './database-options.ts';

/** A program for crash tests: revokes every family and exits after the journal, before the commit. */
const [, , dataDir = '', databaseUrl = ''] = process.argv;
/** Later than the families: a revocation older than a family does not apply to it. */
const AT_MS = Date.UTC(2026, 10, 22);
const DYING: CommitSteps = {
  async beforeCommit() {
    process.kill(process.pid, 'SIGKILL');
  },
};
const opened = openJournal(dataDir);
if (!opened.ok) throw new Error(opened.fault);
const database = openDatabase(
  { dataDir, databaseUrl: databaseUrl === '' ? null : databaseUrl },
  { ...databaseOptions(), chaining: { sqlite: DYING, postgres: DYING } },
);
const journaled = journaledDatabase(database, { journal: opened.journal, onKeySet: async () => {} });
await journaled.transact(async (tx) => {
  const families = await tx.selectFrom('refresh_families').select('id').execute();
  for (const { id } of families)
    await markFamilyRevoked(tx, { familyId: id, reason: 'operator', atMs: AT_MS });
});
throw new Error('the commit was reached');
