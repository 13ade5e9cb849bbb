import { readHead } from '../apps/server/src/events/store.ts';
import { verifyDatabase } from '../apps/server/src/events/verify-database.ts';
import { withVerifiers } from '../apps/server/src/events/verify-threads.ts';
import type { DatabasePlace } from '../apps/server/src/events/verify-worker.ts';
import { openDatabase } from '../apps/server/src/platform/db/open.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';

/** Walks a log as `tidegate doctor --verify-events` does, and prints what it took: `events-walk.ts PLACE THREADS`. */
const [place = '', threads = '1'] = process.argv.slice(2);
const at: DatabasePlace = JSON.parse(place);
const database = openDatabase(at, databaseOptions());
const before = await readHead(database.read);
const began = performance.now();
const walked = await withVerifiers(at, Number(threads), (verifiers) =>
  verifyDatabase(database.read, {
    ...{ trusted: { keys: [], revokedAtMs: new Map() }, lines: [], heads: [], verifiers },
  }),
);
const seconds = (performance.now() - began) / 1_000;
await database.close();
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
console.log(
  JSON.stringify({
    ...{ threads: Number(threads), isWhole: walked.rows === before?.position, fault: walked.fault },
    ...{ events: walked.rows, seconds: Math.round(seconds * 10) / 10 },
    eventsPerSecond: Math.round(walked.rows / seconds),
    cpuSeconds: Math.round((userCPUTime + systemCPUTime) / 1e5) / 10,
    peakMb: Math.round(maxRSS / 1_024),
  }),
);
