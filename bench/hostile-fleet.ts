import { readFileSync, rmSync, watch } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type BenchAgent, type BenchServer, BOOT_ID, DIGEST, startFleet } from './fleet.ts';
import { type HostileRequest, hostileRequests } from './hostile-bodies.ts';
import { pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';

const HOSTILE = 100;
const HONEST = 100;
/** Limits of an agent: 120 reports and 60 check-ins a minute. */
const REPORT_EVERY_MS = 500;
const CHECK_IN_EVERY_MS = 1_000;
const WARM_UP_MS = 2_000;
/** How long answers are waited for when the time is over. */
const GRACE_SECONDS = 5;

/** What the run must keep. */
const HELD_MAX_MS = 50;
const HONEST_P99_MAX_MS = 200;

interface Loop {
  /** As the clock says, with the time that other programs took from the server. */
  longestMs: number;
  /** The ten longest without that time, the longest first. */
  heldMs: number[];
}

interface Figures {
  loop: Loop;
  honest: Percentiles;
  answers: Record<string, number>;
  fault: string | null;
}

/** By engine, then by what was sent. */
export type HostileFigures = Record<string, Record<string, Figures | Alone> | { missing: string }>;

interface Percentiles {
  checkIns: number;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
}

/**
 * 100 hosts that send their worst as often as their limits allow, beside 100 honest ones: how long the server's loop
 * was held in one piece, and how long the check-ins of the honest ones took; then each kind of request by itself.
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
    });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    const run = (of: readonly HostileRequest[][]) => attack(fleet, { of, seconds, out });
    try {
      const figures: Record<string, Figures | Alone> = { 'nobody hostile': await run([]) };
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
  /** How long each of the requests took, one after the other. */
  tookMs: number[];
  answers: Record<string, number>;
  fault: string | null;
}

/** One host sends each of the requests once, and then again. */
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
  return { loop, tookMs, answers, fault: heldFault(loop) };
}

/** Every hostile host sends one kind, by turns; each has one connection and waits for its answer. */
async function attack(
  fleet: BenchServer,
  { of, seconds, out }: { of: readonly HostileRequest[][]; seconds: number; out: string },
): Promise<Figures> {
  const { url, pid } = fleet;
  const connections = new Agent({ keepAlive: true });
  const endMs = performance.now() + WARM_UP_MS + seconds * 1_000;
  const answers: Record<string, number> = {};
  const took: number[] = [];
  const warmMs = performance.now() + WARM_UP_MS;
  const hostile = fleet.agents.slice(0, HOSTILE).map(async (agent, index) => {
    const requests = of[index % of.length];
    if (requests === undefined) return;
    const everyMs = requests[0]?.path === '/check-in' ? CHECK_IN_EVERY_MS : REPORT_EVERY_MS;
    await paced({ everyMs, offsetMs: (index * everyMs) / HOSTILE, endMs }, async (turn) => {
      const one = requests[turn % requests.length];
      if (!one) return;
      const status = await send({ url, agent, one, connections });
      answers[status] = (answers[status] ?? 0) + 1;
    });
  });
  const checkIn: HostileRequest = { method: 'POST', path: '/check-in', body: idleCheckIn(), gzip: false };
  const honest = fleet.agents.slice(HOSTILE).map((agent, index) =>
    paced({ everyMs: CHECK_IN_EVERY_MS, offsetMs: index * 10, endMs }, async () => {
      const sentMs = performance.now();
      const status = await send({ url, agent, one: checkIn, connections });
      const name = `honest ${status}`;
      answers[name] = (answers[name] ?? 0) + 1;
      // One that the end of the run cut off took at least so long.
      if (sentMs >= warmMs) took.push(performance.now() - sentMs);
    }),
  );
  const begun = setTimeout(() => process.kill(pid, 'SIGUSR2'), WARM_UP_MS);
  const cutOff = setTimeout(() => connections.destroy(), WARM_UP_MS + (seconds + GRACE_SECONDS) * 1_000);
  await Promise.all([...hostile, ...honest]);
  clearTimeout(begun);
  clearTimeout(cutOff);
  connections.destroy();
  const loop = await readLoop(pid, out);
  const percentiles = percentilesOf(took);
  return { loop, honest: percentiles, answers, fault: faultOf(loop, percentiles) };
}

function faultOf(loop: Loop, { p99Ms }: Percentiles): string | null {
  const isSlow = p99Ms > HONEST_P99_MAX_MS;
  const slow = `honest check-ins took ${p99Ms.toFixed(0)} ms at p99, of ${HONEST_P99_MAX_MS} at most`;
  return heldFault(loop) ?? (isSlow ? slow : null);
}

function heldFault({ heldMs: [heldMs = 0] }: Loop): string | null {
  const held = `the loop was held for ${heldMs.toFixed(0)} ms, of ${HELD_MAX_MS} at most`;
  return heldMs > HELD_MAX_MS ? held : null;
}

/** Begins each turn on time, or as soon as the one before is over. */
async function paced(
  { everyMs, offsetMs, endMs }: { everyMs: number; offsetMs: number; endMs: number },
  work: (turn: number) => Promise<void>,
): Promise<void> {
  let nextMs = performance.now() + offsetMs;
  for (let turn = 0; nextMs < endMs; turn++) {
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    await work(turn);
    nextMs = Math.max(nextMs + everyMs, performance.now());
  }
}

function send({
  url,
  agent: { agentId, machineId, token },
  one: { method, path, body, gzip },
  connections,
}: {
  url: string;
  agent: BenchAgent;
  one: HostileRequest;
  connections: Agent;
}): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-machine-id': machineId,
    'content-type': 'application/json',
    'content-length': body.length,
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  };
  return new Promise((resolve) => {
    const sent = request(`${url}/api/v1/agents/${agentId}${path}`, { method, headers, agent: connections });
    sent.once('response', (answer) => {
      answer.resume();
      answer.once('end', () => resolve(String(answer.statusCode)));
    });
    // A server that refuses before it has read the body may close the connection.
    sent.once('error', (error) => resolve('code' in error ? String(error.code) : error.name));
    sent.end(body);
  });
}

function idleCheckIn(): Buffer {
  return Buffer.from(
    JSON.stringify({
      agent_version: '1.0.0',
      boot_id: BOOT_ID,
      uptime_seconds: 86_400,
      load: [0.1, 0.2, 0.3],
      received: [],
      key_set_version: 1,
      inventory_digest: { apt: DIGEST },
    }),
  );
}

async function readLoop(pid: number, out: string): Promise<Loop> {
  rmSync(out, { force: true });
  const folder = watch(join(out, '..'));
  const written = new Promise((resolve) => folder.on('change', resolve));
  process.kill(pid, 'SIGUSR2');
  await written;
  for (;;) {
    try {
      folder.close();
      const { longestMs, heldMs }: Loop = JSON.parse(readFileSync(out, 'utf8'));
      return { longestMs: rounded(longestMs), heldMs: heldMs.map(rounded) };
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // it is being written
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
