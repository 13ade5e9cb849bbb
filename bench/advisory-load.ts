import type { MirrorRecord } from '../apps/server/src/advisories/mirror/records/record-rules.ts';
import { readMirrorRecord } from '../apps/server/src/advisories/mirror/records/record-rules.ts';
import { insertRecords, saveSnapshot } from '../apps/server/src/advisories/mirror/store.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { almaLikeRecords } from './advisory-set.ts';

// Runs in a process of its own, so that its memory is not counted as that of the process that judges. Argument: the
// database file.
const [path = ''] = process.argv.slice(2);
const BATCH = 100;
const began = performance.now();
const database = openSqlite(path, databaseOptions());
await migrate(database, { migrations: MIGRATIONS, now: Date.now });
let entries = 0;
let records = 0;
let batch: MirrorRecord[] = [];
for (const record of almaLikeRecords()) {
  const bytes = Buffer.from(JSON.stringify(record));
  const answer = readMirrorRecord(bytes, { id: record.id, releases: ['AlmaLinux:9'] });
  if (answer.kind !== 'record') throw new Error(answer.why);
  entries += answer.record.entries.length;
  records += 1;
  batch.push(answer.record);
  if (batch.length >= BATCH) await flush();
}
await flush();
const now = Date.now();
await database.transact((tx) =>
  saveSnapshot(tx, {
    ...{ base: 'AlmaLinux', loadId: 1, releases: ['AlmaLinux:9'], source: 'bench', sha256: '0'.repeat(64) },
    ...{ modifiedMark: '2026-01-01T00:00:00Z', asOfMs: now, asOfKind: 'fetched', loadedAtMs: now },
    ...{ records, badRecords: 0, unreadable: [] },
  }),
);
await database.close();
process.stdout.write(JSON.stringify({ records, entries, load_ms: Math.round(performance.now() - began) }));

async function flush(): Promise<void> {
  const some = batch;
  batch = [];
  await database.transact((tx) => insertRecords(tx, { loadId: 1, records: some }));
}
