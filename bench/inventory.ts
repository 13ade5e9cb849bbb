import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { InventoryReport } from '@tidegate/protocol/agent-api';
import { deltaBetween, type NamedReport } from '@tidegate/protocol/inventory-delta';
import { type BenchAgent, type BenchServer, startFleet } from './fleet.ts';
import { HELLO } from './floor.ts';
import { agentRequest } from './form-request.ts';
import { benchLargeInventory } from './large-inventory.ts';
import { type LoadResult, runLoad } from './load.ts';
import { cpuOf, median, pinLoad, startServerProcess } from './processes.ts';
import { flagsOf } from './rounds.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 50;
const PACKAGES = 1_500;
const CHANGED = 10;
const CONNECTIONS = 8;
/** Deltas of each host, and requests of the bare server, in a round: long compared with the ticks of CPU time. */
const DELTAS = 20;
/** Unchanged reports of each host in a round: long compared with a collection of the heap that whole reports before them have caused. */
const UNCHANGED = 60;
const HELLOS = 20_000;
/** Updates of a host that has some. */
const UPDATES = 30;

type ReportKind = 'unchanged' | 'changed' | 'delta' | 'deltaWithUpdates';

export interface Figures {
  cpuUs: number;
  cpuWithDatabaseUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Reports of 1,500 packages: the first of each host, the same bytes again, whole with 10 packages changed, and these 10 as a
 * delta, of hosts without updates and with 30; medians, with a bare server in the same rounds. Then 20,000 packages in parts.
 */
export async function benchInventory(options: BenchOptions): Promise<Record<string, unknown>> {
  const { rounds, say } = options;
  pinLoad();
  const hello = await startServerProcess(join(import.meta.dirname, 'hello.ts'));
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    const fleet = await startFleet(engine, { agents: AGENTS, nodeFlags: flagsOf(engine) });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      const bare = async (): Promise<Figures> => {
        const before = cpuOf(hello.pid);
        const load = { url: hello.url, connections: CONNECTIONS, seconds: 60, requests: [HELLO] };
        const run = await runLoad({ ...load, maxRequests: HELLOS });
        return figuresOf(run, { server: cpuOf(hello.pid) - before, database: 0 });
      };
      const hellos: Figures[] = [];
      const { first, kinds } = await sendReports(fleet, rounds, async () => void hellos.push(await bare()));
      const named = Object.entries({ hello: hellos, ...kinds }).map(
        ([kind, figures]) => [kind, medians(figures)] as const,
      );
      result[engine] = { ...Object.fromEntries(named), first };
      for (const [kind, figures] of named) say(`${engine} ${kind}: ${JSON.stringify(figures)}`);
    } finally {
      await fleet.stop();
    }
  }
  await hello.stop();
  return { ...result, large: await benchLargeInventory(options) };
}

/** Rounds of each kind of report of these hosts; `beforeRound` measures what stands beside them. */
export async function sendReports(
  fleet: BenchServer,
  rounds: number,
  beforeRound: () => Promise<void>,
): Promise<{ first: Figures; kinds: Record<ReportKind, Figures[]> }> {
  const send = async (requests: readonly Buffer[]): Promise<Figures> => {
    const before = fleet.cpuUs();
    const load = { url: fleet.url, connections: CONNECTIONS, seconds: 120 };
    const run = await runLoad({ ...load, requests, maxRequests: requests.length });
    const after = fleet.cpuUs();
    const database = after.database - before.database;
    return figuresOf(run, { server: after.server - before.server, database });
  };
  const whole = (version: number, updates = 0) =>
    fleet.agents.map((agent) => putRequest(agent, reportOf(version, updates)));
  const deltas = (from: number, updates = 0) =>
    Array.from({ length: DELTAS }, (_, n) => from + n).flatMap((version) => {
      const delta = deltaBetween(reportOf(version, updates), reportOf(version + 1, updates));
      return fleet.agents.map((agent) => request(agent, 'PATCH', JSON.stringify(delta)));
    });
  const kinds: Record<ReportKind, Figures[]> = {
    unchanged: [],
    changed: [],
    delta: [],
    deltaWithUpdates: [],
  };
  const first = await send(whole(0));
  let version = 1;
  for (let round = 1; round <= rounds; round++) {
    const changed = whole(version);
    await beforeRound();
    kinds.changed.push(await send(changed));
    kinds.unchanged.push(await send(Array.from({ length: UNCHANGED }, () => changed).flat()));
    kinds.delta.push(await send(deltas(version)));
    version += DELTAS + 1;
    await send(whole(version, UPDATES));
    kinds.deltaWithUpdates.push(await send(deltas(version, UPDATES)));
    version += DELTAS + 1;
  }
  return { first, kinds };
}

function figuresOf(run: LoadResult, cpu: { server: number; database: number }): Figures {
  if (Object.keys(run.refused).length > 0) {
    throw new Error(`not every answer was 200: ${JSON.stringify(run.refused)}`);
  }
  return {
    cpuUs: Math.round(cpu.server / run.requests),
    cpuWithDatabaseUs: Math.round((cpu.server + cpu.database) / run.requests),
    perSecond: Math.round(run.perSecond),
    p50Ms: Math.round(run.p50Ms * 10) / 10,
    p99Ms: Math.round(run.p99Ms * 10) / 10,
  };
}

export function medians(all: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => median(all.map((figures) => figures[key]));
  return {
    cpuUs: of('cpuUs'),
    cpuWithDatabaseUs: of('cpuWithDatabaseUs'),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
  };
}

/** The whole report of a host whose packages changed so many times. */
export function reportBody(changes: number): Buffer<ArrayBuffer> {
  return Buffer.from(JSON.stringify(reportOf(changes, 0).content));
}

function reportOf(changes: number, offered: number): NamedReport {
  const content: InventoryReport = {
    scanned_at: '2026-11-21T09:00:00Z',
    complete: true,
    packages: Array.from({ length: PACKAGES }, (_, n) => {
      const version = n < CHANGED ? `1.${n}.${changes}-1` : `1.${n}.0-1`;
      const source = { source_name: `source-${n}`, source_version: version };
      return { name: `package-${n}`, version, arch: 'amd64', ...source };
    }),
    updates: Array.from({ length: offered }, (_, n) => ({
      ...{ name: `package-${CHANGED + n}`, arch: 'amd64', origin: 'Debian:12/stable' },
      ...{ current_version: `1.${CHANGED + n}.0-1`, available_version: `2.${n}.0-1`, size_bytes: 1_000_000 },
    })),
  };
  return { sha256: hash('sha256', JSON.stringify(content), 'hex'), content };
}

function putRequest(agent: BenchAgent, { content }: NamedReport): Buffer {
  return request(agent, 'PUT', JSON.stringify(content));
}

function request(agent: BenchAgent, method: 'PUT' | 'PATCH', body: string): Buffer {
  return agentRequest(agent, { method, path: '/inventory/apt', body });
}
