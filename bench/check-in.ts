import { join } from 'node:path';
import { type BenchAgent, type BenchServer, BOOT_ID, DIGEST, startFleet } from './fleet.ts';
import { type LoadResult, runLoad } from './load.ts';
import { cpuOf, median, pinLoad, startServerProcess } from './processes.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 10_000;
const CONNECTIONS = 64;
/** Until the compiler of the engine has seen enough of the hot path. */
const WARM_UP_SECONDS = 5;

interface Figures {
  /** CPU of the server process by request, in units of the bare server's. */
  cpuRatio: number;
  cpuUs: number;
  /** With the CPU of the database's own processes. */
  cpuWithDatabaseUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Idle check-ins of 10,000 agents over 64 connections, in rounds that alternate with a bare node:http server, each
 * server on the same core and the load on another. Medians of the rounds; CPU by request is the steady figure.
 */
export async function benchCheckIn(
  options: BenchOptions,
): Promise<Record<string, Figures | { missing: string }>> {
  const { seconds, say } = options;
  if (!pinLoad()) say('one core or no taskset: server and load share it, read the figures with care');
  const hello = await startServerProcess(join(import.meta.dirname, 'hello.ts'));
  const result: Record<string, Figures | { missing: string }> = {};
  try {
    for (const engine of options.engines) {
      const fleet = await startFleet(engine, { agents: AGENTS, nodeFlags: flagsOf(engine) });
      if ('missing' in fleet) {
        result[engine] = fleet;
        continue;
      }
      try {
        const requests = fleet.agents.map(checkInRequest);
        // Every token is verified and every query prepared once before anything is measured.
        await runLoad({
          url: fleet.url,
          connections: CONNECTIONS,
          seconds: 60,
          requests,
          maxRequests: AGENTS,
        });
        await runLoad({ url: hello.url, connections: CONNECTIONS, seconds: 1, requests: [HELLO] });
        await runLoad({ url: fleet.url, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, requests });
        result[engine] = await measure(options, {
          engine,
          fleet,
          hello: () =>
            measured(() => ({ server: cpuOf(hello.pid), database: 0 }), {
              url: hello.url,
              seconds,
              requests: [HELLO],
            }),
          checkIn: () => measured(fleet.cpuUs, { url: fleet.url, seconds, requests }),
        });
      } finally {
        await fleet.stop();
      }
    }
  } finally {
    await hello.stop();
  }
  return result;
}

function flagsOf(engine: string): string[] {
  const folder = process.env.TIDEGATE_BENCH_PROFILE;
  return folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', join(folder, engine)];
}

interface Round extends LoadResult {
  cpuUs: number;
  cpuWithDatabaseUs: number;
}

interface Candidates {
  engine: string;
  fleet: BenchServer;
  hello: () => Promise<Round>;
  checkIn: () => Promise<Round>;
}

async function measure({ rounds, say }: BenchOptions, candidates: Candidates): Promise<Figures> {
  const hellos: Round[] = [];
  const checkIns: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const floor = await candidates.hello();
    const checkIn = await candidates.checkIn();
    hellos.push(floor);
    checkIns.push(checkIn);
    say(
      `${candidates.engine} ${round}/${rounds}: hello ${floor.cpuUs.toFixed(1)} µs, ` +
        `check-in ${checkIn.cpuUs.toFixed(1)} µs (${checkIn.cpuWithDatabaseUs.toFixed(1)} with the database), ` +
        `${checkIn.perSecond.toFixed(0)}/s, p99 ${checkIn.p99Ms.toFixed(1)} ms`,
    );
  }
  const of = (key: 'cpuUs' | 'cpuWithDatabaseUs' | 'perSecond' | 'p50Ms' | 'p99Ms') =>
    median(checkIns.map((round) => round[key]));
  return {
    cpuRatio: rounded(of('cpuUs') / median(hellos.map((round) => round.cpuUs))),
    cpuUs: rounded(of('cpuUs')),
    cpuWithDatabaseUs: rounded(of('cpuWithDatabaseUs')),
    perSecond: Math.round(of('perSecond')),
    p50Ms: rounded(of('p50Ms')),
    p99Ms: rounded(of('p99Ms')),
  };
}

async function measured(
  cpu: () => { server: number; database: number },
  load: { url: string; seconds: number; requests: readonly Buffer[] },
): Promise<Round> {
  const before = cpu();
  const result = await runLoad({ ...load, connections: CONNECTIONS });
  const after = cpu();
  if (Object.keys(result.refused).length > 0) {
    throw new Error(`not every answer was 200: ${JSON.stringify(result.refused)}`);
  }
  const server = (after.server - before.server) / result.requests;
  const database = (after.database - before.database) / result.requests;
  return { ...result, cpuUs: server, cpuWithDatabaseUs: server + database };
}

const HELLO = Buffer.from('GET / HTTP/1.1\r\nhost: bench\r\n\r\n');

function checkInRequest({ agentId, machineId, token }: BenchAgent): Buffer {
  const body = JSON.stringify({
    agent_version: '1.0.0',
    boot_id: BOOT_ID,
    uptime_seconds: 86_400,
    load: [0.1, 0.2, 0.3],
    received: [],
    key_set_version: 1,
    inventory_digest: { apt: DIGEST },
  });
  const head = [
    `POST /api/v1/agents/${agentId}/check-in HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${token}`,
    `x-machine-id: ${machineId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
