import { pruneEvents } from '../events/prune-events.ts';
import { openDatabase } from '../platform/db/open.ts';
import { createCheckpointSigner } from './checkpoint-signer.ts';
import { databaseOptions } from './database-options.ts';
import { createTestPlatform } from './test-platform.ts';

/**
 * A removal in a process of its own, for tests that kill it: `prune-process.ts PLACE NOW [LOOK]`. At the look LOOK whether it
 * must stop, of which there is one before each chunk, it stands still until SIGCONT: on a busy machine it would else have
 * ended before it is killed.
 */
const [place = '', nowMs = '', standsAt = ''] = process.argv.slice(2);
let looks = 0;
function isStopped(): boolean {
  looks++;
  if (looks === Number(standsAt)) process.kill(process.pid, 'SIGSTOP');
  return false;
}
const database = openDatabase(JSON.parse(place), databaseOptions());
const signer = createCheckpointSigner();
const platform = createTestPlatform(database, { startMs: Number(nowMs), seed: `process ${process.pid}` });
const how = { signer, trusted: signer.trusted, retentionDays: 30, isStopped };
process.stdout.write(`${JSON.stringify(await pruneEvents(platform, how))}\n`);
await database.close();
