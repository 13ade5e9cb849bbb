import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEntryReader } from '../apps/server/src/advisories/mirror/matching/entry-store.ts';
import { createMirrorJudge } from '../apps/server/src/advisories/mirror/matching/judge-from-mirror.ts';
import { createGroups } from '../apps/server/src/advisories/mirror/matching/match-entries.ts';
import type { Subject } from '../apps/server/src/advisories/subjects.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { createIdMaker } from '../apps/server/src/platform/ids.ts';
import { createLog } from '../apps/server/src/platform/log.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { median } from './processes.ts';
import type { BenchOptions } from './run.ts';

const RELEASE = 'AlmaLinux:9';
const PACKAGES = 10_000;
const CLOSURE = 500;
const CLOSURES = 10;

/** Judging from the mirror: a set of AlmaLinux's size, 10,000 packages of a fleet, and closures of 500. */
export async function benchAdvisories({ rounds, say }: BenchOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'));
  const path = join(folder, 'bench.db');
  say('making and loading the set');
  const script = join(import.meta.dirname, 'advisory-load.ts');
  const loaded: unknown = JSON.parse(execFileSync(process.execPath, [script, path]).toString());
  const database = openSqlite(path, databaseOptions());
  try {
    const fleet = subjects(PACKAGES);
    const judged = await judgeAndStore(database, { fleet, rounds });
    say('judged and stored; now matching alone');
    const matched = await matchAlone(database, { fleet, rounds });
    return { set: loaded, packages: PACKAGES, closure: CLOSURE, ...matched, ...judged };
  } finally {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Load {
  fleet: readonly Subject[];
  rounds: number;
}

/** The cost of matching once the entries are in memory. */
async function matchAlone(database: Database, { fleet, rounds }: Load) {
  const groups = createGroups();
  const names = [...new Set(fleet.map(({ name }) => name))];
  const read = await createEntryReader(database)({ loadId: 1, names });
  for (const [name, entries] of read) groups.put('s', name, entries);
  const hitsOf = (some: readonly Subject[]) =>
    some.reduce((sum, one) => sum + (groups.find('s', one.name)?.match(one).ids.length ?? 0), 0);
  const first = timed(() => hitsOf(fleet));
  const all = Array.from({ length: rounds }, () => timed(() => hitsOf(fleet)).ms);
  const closures = Array.from({ length: rounds * CLOSURES }, (_, i) => {
    const from = (i % CLOSURES) * CLOSURE;
    return timed(() => hitsOf(fleet.slice(from, from + CLOSURE))).ms;
  });
  return {
    hits: first.result,
    first_match_ms: first.ms,
    match_ms: median(all),
    closure_match_ms: median(closures),
  };
}

/** The same as the server does: reads entries that are not in memory, matches, and stores every check. */
async function judgeAndStore(database: Database, { fleet, rounds }: Load) {
  const random = (n: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(n)));
  const log = createLog({ level: 'error', format: 'text', now: Date.now, write: () => {} });
  const platform = { database, log, now: Date.now, random, newId: createIdMaker(Date.now, random) };
  const maxAgeMs = 24 * 3_600_000;
  const judge = createMirrorJudge({ platform, maxAgeMs, isAlone: true, isFetching: true });
  const ms: number[] = [];
  const closures: number[] = [];
  const heap: number[] = [];
  const rss: number[] = [];
  const before = megabytes(process.memoryUsage.rss());
  let peakOfFirst = 0;
  for (let round = 0; round <= rounds; round++) {
    ms.push(await judged(fleet));
    if (round === 0) peakOfFirst = megabytes(process.resourceUsage().maxRSS * 1_024);
    const from = (round % CLOSURES) * CLOSURE;
    closures.push(await judged(fleet.slice(from, from + CLOSURE)));
    collectGarbage();
    heap.push(megabytes(process.memoryUsage().heapUsed));
    rss.push(megabytes(process.memoryUsage.rss()));
  }
  async function judged(some: readonly Subject[]): Promise<number> {
    await moveSnapshot(database);
    const began = cpuMs();
    const { left } = await judge.judge(some);
    if (left.size > 0) throw new Error('some packages were not judged');
    return since(began);
  }
  return {
    ...{ first_judged_and_stored_ms: ms[0], judged_and_stored_ms: median(ms.slice(1)) },
    ...{ closure_judged_and_stored_ms: median(closures.slice(1)) },
    ...{ rss_before_mb: before, rss_peak_of_first_mb: peakOfFirst, heap_mb: heap, rss_mb: rss },
  };
}

/** The same content at a later time: every check that is stored differs from the one before. */
async function moveSnapshot(database: Database): Promise<void> {
  await database.transact((tx) =>
    tx
      .updateTable('mirror_snapshots')
      .set((e) => ({ as_of: e('as_of', '+', 1) }))
      .execute(),
  );
}

/** Megabytes of 1,000,000 bytes. */
function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000);
}

function subjects(count: number): Subject[] {
  return Array.from({ length: count }, (_, i) => ({
    ecosystem: RELEASE,
    // Half of the names are in the set, each in several versions, as in a real fleet.
    name: i % 2 === 0 ? `package-${(i / 2) % 2_500}` : `unknown-${i}`,
    version: `0:${1 + (i % 40)}.${i % 7}.0-${1 + (i % 5)}.el9`,
  }));
}

function timed<T>(work: () => T): { result: T; ms: number } {
  const began = cpuMs();
  const result = work();
  return { result, ms: since(began) };
}

/** The memory after use: growth from round to round would be a leak. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/** CPU time, which other work on the machine hardly changes. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function since(began: number): number {
  return Math.round((cpuMs() - began) * 10) / 10;
}
