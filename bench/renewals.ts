import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type BenchAgent, type BenchServer, startFleet } from './fleet.ts';
import { type LoadResult, runLoad, type Turn } from './load.ts';
import { cpuOf, median, pinLoad, startServerProcess } from './processes.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 10_000;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 5;
const HELLO = Buffer.from('GET / HTTP/1.1\r\nhost: bench\r\n\r\n');

interface Figures {
  perSecond: number;
  /** CPU of the server process by renewal. */
  cpuUs: number;
  /** The same in units of the bare server's. */
  cpuRatio: number;
  /** With the CPU of the database's own processes. */
  cpuWithDatabaseUs: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Renewals (E1) of 10,000 agents over 64 connections: each with a request id and the token that the one before gave,
 * committed to disk before its answer. Rounds alternate with a bare node:http server on the same core.
 */
export async function benchRenewals(
  options: BenchOptions,
): Promise<Record<string, Figures | { missing: string }>> {
  const { say } = options;
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
        const requests = renewalsOf(fleet.agents);
        await runLoad({ url: hello.url, connections: CONNECTIONS, seconds: 1, requests: [HELLO] });
        await runLoad({ url: fleet.url, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, requests });
        result[engine] = await measure(options, { engine, fleet, requests, hello });
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

interface Candidates {
  engine: string;
  fleet: BenchServer;
  requests: () => Turn | null;
  hello: { pid: number; url: string };
}

async function measure(
  { rounds, seconds, say }: BenchOptions,
  { engine, fleet, requests, hello }: Candidates,
): Promise<Figures> {
  const floors: number[] = [];
  const renewals: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const helloCpu = () => ({ server: cpuOf(hello.pid), database: 0 });
    const floor = await measured(helloCpu, { url: hello.url, seconds, requests: [HELLO] });
    const renewal = await measured(fleet.cpuUs, { url: fleet.url, seconds, requests });
    floors.push(floor.cpuUs);
    renewals.push(renewal);
    say(
      `${engine} ${round}/${rounds}: hello ${floor.cpuUs.toFixed(1)} µs, renewal ${renewal.cpuUs.toFixed(1)} µs ` +
        `(${renewal.cpuWithDatabaseUs.toFixed(1)} with the database), ${renewal.perSecond.toFixed(0)}/s, ` +
        `p99 ${renewal.p99Ms.toFixed(1)} ms`,
    );
  }
  const of = (key: 'cpuUs' | 'cpuWithDatabaseUs' | 'perSecond' | 'p50Ms' | 'p99Ms') =>
    median(renewals.map((round) => round[key]));
  return {
    perSecond: Math.round(of('perSecond')),
    cpuUs: rounded(of('cpuUs')),
    cpuRatio: rounded(of('cpuUs') / median(floors)),
    cpuWithDatabaseUs: rounded(of('cpuWithDatabaseUs')),
    p50Ms: rounded(of('p50Ms')),
    p99Ms: rounded(of('p99Ms')),
  };
}

interface Round extends LoadResult {
  cpuUs: number;
  cpuWithDatabaseUs: number;
}

async function measured(
  cpu: () => { server: number; database: number },
  load: { url: string; seconds: number; requests: readonly Buffer[] | (() => Turn | null) },
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

const Answer = Compile(Type.Object({ refresh_token: Type.String() }));

/** The agents in turn, each with the newest token that it was given; one that waits for its answer is passed over. */
function renewalsOf(agents: readonly BenchAgent[]): () => Turn | null {
  const idle = agents.map(({ machineId, refreshToken }) => ({ machineId, token: refreshToken }));
  return () => {
    const agent = idle.shift();
    if (!agent) return null;
    return {
      request: renewRequest(agent),
      onAnswer(answer) {
        const body: unknown = JSON.parse(answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4));
        // Anything but a new token ends the run as failed, by its status.
        if (Answer.Check(body)) idle.push({ ...agent, token: body.refresh_token });
      },
    };
  };
}

function renewRequest({ machineId, token }: { machineId: string; token: string }): Buffer {
  const body = JSON.stringify({ refresh_token: token, request_id: randomUUID() });
  const head = [
    'POST /api/v1/agents/renew HTTP/1.1',
    'host: bench',
    `x-machine-id: ${machineId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
