import { type BenchAgent, startFleet } from './fleet.ts';
import { type LoadResult, runLoad } from './load.ts';
import { median, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 50;
const PACKAGES = 1_500;
const CHANGED = 10;
const CONNECTIONS = 8;

interface Figures {
  cpuUs: number;
  cpuWithDatabaseUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Reports of 1,500 packages: the first of each host, the same bytes again, and with 10 packages changed; medians. */
export async function benchInventory(options: BenchOptions): Promise<Record<string, unknown>> {
  const { rounds, say } = options;
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    const fleet = await startFleet(engine, { agents: AGENTS });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      const measured = async (requests: readonly Buffer[]): Promise<Figures> => {
        const before = fleet.cpuUs();
        const load = { url: fleet.url, connections: CONNECTIONS, seconds: 60 };
        const run = await runLoad({ ...load, requests, maxRequests: requests.length });
        const after = fleet.cpuUs();
        return figuresOf(run, {
          server: after.server - before.server,
          database: after.database - before.database,
        });
      };
      const kinds = { first: [] as Figures[], unchanged: [] as Figures[], changed: [] as Figures[] };
      kinds.first.push(await measured(fleet.agents.map((agent) => reportRequest(agent, 0))));
      for (let round = 1; round <= rounds; round++) {
        const changed = fleet.agents.map((agent) => reportRequest(agent, round));
        kinds.changed.push(await measured(changed));
        // Each report is sent several times, so that a round is long compared with the ticks of CPU time.
        kinds.unchanged.push(await measured(Array.from({ length: 10 }, () => changed).flat()));
      }
      result[engine] = {
        first: kinds.first[0],
        unchanged: medians(kinds.unchanged),
        changed: medians(kinds.changed),
      };
      say(`${engine}: ${JSON.stringify(result[engine])}`);
    } finally {
      await fleet.stop();
    }
  }
  return result;
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

function medians(all: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => median(all.map((figures) => figures[key]));
  return {
    cpuUs: of('cpuUs'),
    cpuWithDatabaseUs: of('cpuWithDatabaseUs'),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
  };
}

/** A report of 1,500 packages, of which ten have another version in each round. */
export function reportBody(round: number): Buffer<ArrayBuffer> {
  const packages = Array.from({ length: PACKAGES }, (_, n) => {
    const version = n < CHANGED ? `1.${n}.${round}-1` : `1.${n}.0-1`;
    return {
      name: `package-${n}`,
      version,
      arch: 'amd64',
      source_name: `source-${n}`,
      source_version: version,
    };
  });
  return Buffer.from(
    JSON.stringify({ scanned_at: '2026-11-21T09:00:00Z', complete: true, packages, updates: [] }),
  );
}

function reportRequest({ agentId, machineId, token }: BenchAgent, round: number): Buffer {
  const body = reportBody(round);
  const head = [
    `PUT /api/v1/agents/${agentId}/inventory/apt HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${token}`,
    `x-machine-id: ${machineId}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
