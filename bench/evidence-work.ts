import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { PerformanceObserver } from 'node:perf_hooks';
import { verifyBundle } from '../apps/server/src/evidence/verify-bundle.ts';
import { writeBundle } from '../apps/server/src/evidence/write-bundle.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { writeSbom } from '../apps/server/src/sboms/write-sbom.ts';
import { writeVex } from '../apps/server/src/sboms/write-vex.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { createTestPlatform } from '../apps/server/src/testing/test-platform.ts';
import { signYear, YEAR_FLEET, YEAR_GROUP, YEAR_MS, YEAR_START_MS, yearKey } from './evidence-year.ts';
import { watchLoop } from './loop-delay.ts';
import { memoryOf } from './processes.ts';

/** One piece of work in a process of its own, so that its memory is its own: `evidence-work.ts WORK DATABASE FILE`. */
const [work = '', place = '', path = ''] = process.argv.slice(2);
const NOW_MS = YEAR_START_MS + YEAR_MS;
const target = { kind: 'group', group: YEAR_GROUP } as const;

const WORKS: Readonly<Record<string, (database: Database) => Promise<void>>> = {
  async bundle(database) {
    const signer = { fleetId: YEAR_FLEET, signer: () => ({ sign: signYear }) };
    const span = { sinceMs: YEAR_START_MS, untilMs: NOW_MS };
    const request = { scope: target, isBound: false, span, madeBy: 'bench', nowMs: NOW_MS };
    await write(writeBundle(database.read, signer, request));
  },
  async verify() {
    const file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const read = (at: number, length: number) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - at)));
      readSync(file, bytes, 0, bytes.length, at);
      return bytes;
    };
    const pins = { values: new Set([yearKey.publicKeyHex]) };
    const verdict = await verifyBundle({ size, read }, { pins });
    closeSync(file);
    if (!verdict.ok) throw new Error(JSON.stringify(verdict.fault));
  },
  sbom: (database) => write(writeSbom(database.read, target)),
  vex: (database) =>
    write(
      writeVex(
        {
          platform: createTestPlatform(database, { startMs: NOW_MS }),
          config: { advisoryMaxAgeHours: 24 },
        },
        { target, format: 'cyclonedx', author: 'bench' },
      ),
    ),
};

/** As a server writes to its connections: this thread does not wait for the disk. */
async function write(pieces: AsyncIterable<Buffer | string>): Promise<void> {
  const file = await open(path, 'w');
  for await (const piece of pieces) await file.writeFile(piece);
  await file.close();
}

const database = place.startsWith('postgres')
  ? openPostgres(place, databaseOptions())
  : openSqlite(place, databaseOptions());
const run = WORKS[work];
if (!run) throw new Error(`there is no work ${work}`);
// Code is loaded and pools are opened.
await database.read.selectFrom('agents').select('id').limit(1).execute();
// Without files that are mapped, such as those of SQLite: the kernel may drop those.
const anonymous = () => memoryOf(process.pid).anonymousKb;
const baseKb = anonymous();
let peakKb = baseKb;
setInterval(() => {
  peakKb = Math.max(peakKb, anonymous());
}, 100).unref();
let collectedMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectedMs = Math.max(collectedMs, duration);
}).observe({ entryTypes: ['gc'] });
const take = watchLoop();
const [began, cpu] = [performance.now(), process.cpuUsage()];
await run(database);
const used = process.cpuUsage(cpu);
const seconds = (performance.now() - began) / 1_000;
// A last delay is known when the timer fires after it.
await new Promise((resolve) => setTimeout(resolve, 20));
const { longestMs, blockedMs, ranMs } = take();
await database.close();
const rounded = (value: number) => Math.round(value * 10) / 10;
process.stdout.write(
  JSON.stringify({
    ...{ seconds: rounded(seconds), cpuSeconds: rounded((used.user + used.system) / 1e6) },
    ...{ baseMb: Math.round(baseKb / 1_024), peakMb: Math.round(peakKb / 1_024) },
    ...{ blockedMs: blockedMs.slice(0, 3).map(rounded), longestMs: rounded(longestMs) },
    // What the thread itself did, and the longest collection of garbage by the clock, in which it may wait for other threads.
    ...{ ranMs: ranMs.slice(0, 3).map(rounded), collectedMs: rounded(collectedMs) },
  }),
);
