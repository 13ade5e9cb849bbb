import { readFileSync, rmSync, watch } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { tmpDir } from '@tidegate/testkit/tmp';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import type { HonestHosts } from './honest-hosts.ts';
import { type HostileRequest, hostileRequests, TARGET } from './hostile-bodies.ts';
import { LOAD_CORE, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';
import { paced, send } from './send.ts';

const HOSTILE = 100;
const HONEST = 100;
/** Limits of an agent: 120 reports and 60 check-ins a minute. */
const REPORT_EVERY_MS = 500;
const CHECK_IN_EVERY_MS = 1_000;
const WARM_UP_MS = 2_000;
/** How long the run waits for answers when its time is over. */
const GRACE_SECONDS = 5;

/** The goals of the run. */
const BLOCKED_MAX_MS = 50;
const HONEST_P99_MAX_MS = 200;

export interface Loop {
  /** Wall-clock time, including the time in which other programs had the server's core. */
  longestMs: number;
  /** The ten longest delays without that time, the longest first. */
  blockedMs: number[];
}

interface Figures {
  loop: Loop;
  honest: Percentiles;
  answers: Record<string, number>;
  fault: string | null;
}

/** By engine, then by kind of request. */
export type HostileFigures = Record<string, Record<string, Figures | Alone> | { missing: string }>;

interface Percentiles {
  checkIns: number;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
}

/**
 * Measures each kind of hostile request alone; then 100 hosts send their worst as often as their limits allow, next to
 * 100 honest ones: the longest times for which the server's event loop was blocked, and how long honest check-ins took.
 */
export async function benchHostileFleet(options: BenchOptions): Promise<HostileFigures> {
  pinLoad();
  const seconds = Math.max(options.seconds, 10);
  const kinds = hostileRequests();
  const result: HostileFigures = {};
  for (const engine of options.engines) {
    const folder = tmpDir('tidegate-loop-');
    const out = join(folder.path, 'loop.json');
    const preload = pathToFileURL(join(import.meta.dirname, 'loop-delay.ts'));
    preload.searchParams.set('out', out);
    const fleet = await startFleet(engine, {
      agents: HOSTILE + HONEST,
      nodeFlags: ['--import', preload.href],
      prepare: insertTargets,
      // The server is kept on one core; without this its database would use the others.
      databaseCore: LOAD_CORE,
    });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    const run = (of: readonly HostileRequest[][]) => attack(fleet, { of, seconds, out });
    try {
      const figures: Record<string, Figures | Alone> = { 'honest hosts alone': await run([]) };
      for (const [kind, requests] of Object.entries(kinds)) {
        figures[kind] = await alone(fleet, { requests, out });
        options.say(`${engine}, ${kind}: ${JSON.stringify(figures[kind])}`);
      }
      figures['the hostile fleet'] = await run(Object.values(kinds));
      options.say(`${engine}, fleet: ${JSON.stringify(figures['the hostile fleet'])}`);
      if (Object.values(figures).some(({ fault }) => fault !== null)) process.exitCode = 1;
      result[engine] = figures;
    } finally {
      await fleet.stop();
      folder.remove();
    }
  }
  return result;
}

interface Alone {
  loop: Loop;
  /** How long each of the requests took, in their order. */
  tookMs: number[];
  answers: Record<string, number>;
  fault: string | null;
}

/** One host sends each of the requests twice. */
async function alone(
  { url, pid, agents: [agent] }: BenchServer,
  { requests, out }: { requests: readonly HostileRequest[]; out: string },
): Promise<Alone> {
  if (agent === undefined) throw new Error('a fleet without hosts');
  const connections = new Agent({ keepAlive: true });
  const answers: Record<string, number> = {};
  const tookMs: number[] = [];
  await readLoop(pid, out);
  for (const one of [...requests, ...requests]) {
    const sentMs = performance.now();
    const status = await send({ url, agent, one, connections });
    answers[status] = (answers[status] ?? 0) + 1;
    tookMs.push(rounded(performance.now() - sentMs));
  }
  connections.destroy();
  const loop = await readLoop(pid, out);
  return { loop, tookMs, answers, fault: blockedFault(loop) };
}

/** Each hostile host sends requests of one kind in turn, over one connection, and waits for each answer. */
async function attack(
  { url, pid, agents }: BenchServer,
  { of, seconds, out }: { of: readonly HostileRequest[][]; seconds: number; out: string },
): Promise<Figures> {
  const connections = new Agent({ keepAlive: true });
  const startMs = performance.now();
  const endMs = startMs + WARM_UP_MS + seconds * 1_000;
  const answers: Record<string, number> = {};
  const honest = honestHosts({
    ...{ url, agents: agents.slice(HOSTILE), everyMs: CHECK_IN_EVERY_MS },
    ...{ warmUpMs: WARM_UP_MS, durationMs: WARM_UP_MS + seconds * 1_000 },
  });
  const hostile = agents.slice(0, HOSTILE).map(async (agent, index) => {
    const requests = of[index % of.length];
    if (requests === undefined) return;
    const everyMs = requests[0]?.path === '/check-in' ? CHECK_IN_EVERY_MS : REPORT_EVERY_MS;
    await paced({ everyMs, beginMs: startMs + (index * everyMs) / HOSTILE, endMs }, async (turn) => {
      const one = requests[turn % requests.length];
      if (!one) return;
      const status = await send({ url, agent, one, connections });
      answers[status] = (answers[status] ?? 0) + 1;
    });
  });
  const begun = setTimeout(() => process.kill(pid, 'SIGUSR2'), WARM_UP_MS);
  const cutOff = setTimeout(() => connections.destroy(), WARM_UP_MS + (seconds + GRACE_SECONDS) * 1_000);
  const [took] = await Promise.all([honest, ...hostile]);
  clearTimeout(begun);
  clearTimeout(cutOff);
  connections.destroy();
  const loop = await readLoop(pid, out);
  const percentiles = percentilesOf(took);
  return { loop, honest: percentiles, answers, fault: faultOf(loop, percentiles) };
}

/** How long each check-in took. They have their own thread, so that they do not wait for the hostile hosts' loop. */
function honestHosts(workerData: HonestHosts): Promise<number[]> {
  const thread = new Worker(new URL('./honest-hosts.ts', import.meta.url), { workerData });
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

/** Inserts one update for each host, so that it can send plans for it. */
async function insertTargets(database: Database, agentIds: readonly string[]): Promise<void> {
  const nowMs = Date.now();
  await database.transact((tx) =>
    tx
      .insertInto('updates')
      .values(
        agentIds.map((id) => ({
          ...{ id, agent_id: id, ecosystem: 'npm', ...TARGET, arch: '', current_version: '1' },
          ...{
            origin: null,
            security: 0,
            size_bytes: null,
            offers: 0,
            change: null,
            recommended: 15,
            state: 'pending' as const,
            state_reason: null,
          },
          ...{ out_of_band: 0, plan_id: null, approval_id: null, not_before: null, verdict: null },
          ...{ severity: null, known_exploited: null, epss: null, judged_at: null },
          ...{ introduces: null, stays: null, fixes: null, stopped_under: null },
          ...{ discovered_at: nowMs, updated_at: nowMs },
        })),
      )
      .execute(),
  );
}

function faultOf(loop: Loop, { p99Ms }: Percentiles): string | null {
  const isSlow = p99Ms > HONEST_P99_MAX_MS;
  const slow = `honest check-ins took ${p99Ms.toFixed(0)} ms at p99; the limit is ${HONEST_P99_MAX_MS} ms`;
  return blockedFault(loop) ?? (isSlow ? slow : null);
}

function blockedFault({ blockedMs: [blockedMs = 0] }: Loop): string | null {
  const fault = `the event loop was blocked for ${blockedMs.toFixed(0)} ms; the limit is ${BLOCKED_MAX_MS} ms`;
  return blockedMs > BLOCKED_MAX_MS ? fault : null;
}

/** The delays of the loop of a server with the preload, since the last time. */
export async function readLoop(pid: number, out: string): Promise<Loop> {
  rmSync(out, { force: true });
  const folder = watch(join(out, '..'));
  const written = new Promise((resolve) => folder.on('change', resolve));
  process.kill(pid, 'SIGUSR2');
  await written;
  for (;;) {
    try {
      folder.close();
      const { longestMs, blockedMs }: Loop = JSON.parse(readFileSync(out, 'utf8'));
      return { longestMs: rounded(longestMs), blockedMs: blockedMs.map(rounded) };
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // the file is still being written
    }
  }
}

function percentilesOf(took: readonly number[]): Percentiles {
  const sorted = Float64Array.from(took).sort();
  const at = (share: number) =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { checkIns: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
