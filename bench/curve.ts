import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Compile } from 'typebox/compile';
import { checkInRequest } from './check-in.ts';
import { compareRecords } from './compare.ts';
import { startFleet } from './fleet.ts';
import { drawPage } from './page.ts';
import { cpuOf } from './processes.ts';
import { finishRecord, type Point, type RunRecord, readRecord, startRecord, writeRecord } from './record.ts';
import { besideHello } from './rounds.ts';
import type { BenchOptions } from './run.ts';
import { Adapter } from './target.ts';

export interface CurveOptions {
  /** Fleet sizes, in agents. */
  sizes: readonly number[];
  /** An adapter for another server; ours in both engines if null. */
  target: string | null;
  /** A record to compare with. */
  baseline: string | null;
}

const adapters = Compile(Adapter);

/**
 * What a check-in costs at each size of the fleet, as a multiple of the hello of the same rounds. Writes the record and a
 * page with its curves to `bench/out`. Fails if a point is dearer than in the baseline allows.
 */
export async function benchCurve(options: BenchOptions & CurveOptions): Promise<RunRecord> {
  const { say } = options;
  const record = startRecord();
  const points =
    options.target === null ? await ourPoints(options) : await targetPoints(options, options.target);
  const finished = finishRecord(record, points);
  const file = writeRecord(finished);
  const baseline = options.baseline === null ? null : readRecord(options.baseline);
  const page = drawPage(baseline === null ? [finished] : [finished, baseline]);
  say(`written: ${file} and ${page}`);
  if (baseline === null) return finished;
  const { lines, worse } = compareRecords(finished, baseline);
  for (const line of lines) say(line);
  if (worse > 0) throw new Error(`${worse} of ${points.length} points cost more than the baseline allows`);
  return finished;
}

function ourPoints(options: BenchOptions & CurveOptions): Promise<Point[]> {
  return besideHello(options, async (compare) => {
    const points: Point[] = [];
    for (const engine of options.engines) {
      for (const agents of options.sizes) {
        const fleet = await startFleet(engine, { agents });
        if ('missing' in fleet) {
          options.say(`${engine} is left out: ${fleet.missing}`);
          break;
        }
        try {
          const figures = await compare({
            ...{ url: fleet.url, pid: fleet.pid, cpuUs: fleet.cpuUs },
            title: `${engine}, ${agents.toLocaleString('en')} agents`,
            requests: fleet.agents.map(checkInRequest),
            firstRequests: agents,
          });
          points.push({ server: `tidegate on ${engine}`, scenario: 'check-in', agents, ...figures });
        } finally {
          await fleet.stop();
        }
      }
    }
    return points;
  });
}

async function targetPoints(options: BenchOptions & CurveOptions, path: string): Promise<Point[]> {
  const adapter: unknown = await import(pathToFileURL(resolve(path)).href);
  if (!adapters.Check(adapter))
    throw new Error(`${path} does not export "name" and "start", which bench/target.ts describes`);
  return besideHello(options, async (compare) => {
    const points: Point[] = [];
    for (const agents of options.sizes) {
      const server = await adapter.start(agents);
      try {
        const { url, pid, requests } = server;
        const figures = await compare({
          ...{ url, pid, requests, firstRequests: agents },
          cpuUs: () => ({ server: cpuOf(pid), database: server.databaseCpuUs?.() ?? 0 }),
          title: `${adapter.name}, ${agents.toLocaleString('en')} agents`,
        });
        points.push({ server: adapter.name, scenario: 'check-in', agents, ...figures });
      } finally {
        await server.stop();
      }
    }
    return points;
  });
}
