import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Compile } from 'typebox/compile';
import type { Cell, ScenarioName } from './cells.ts';
import { compareRecords } from './compare.ts';
import { withFloor } from './floor.ts';
import { FULL } from './full.ts';
import { drawPage } from './page.ts';
import { cpuOf } from './processes.ts';
import {
  type Figure,
  finishRecord,
  oneMinuteLoad,
  type RunRecord,
  readRecord,
  startRecord,
  writeRecord,
} from './record.ts';
import { measureBeside } from './rounds.ts';
import type { BenchOptions } from './run.ts';
import { type Measured, planOf, runCells } from './run-cells.ts';
import { Adapter } from './target.ts';

export interface CurveOptions {
  /** Fleet sizes, in agents; null: those of the full set, or of the curve. */
  sizes: readonly number[] | null;
  scenarios: readonly ScenarioName[] | null;
  /** An adapter for the check-in of another server; ours in both engines if null. */
  target: string | null;
  /** A record to compare with. */
  baseline: string | null;
  /** Only tells what would be measured, and how long it takes. */
  plan: boolean;
}

type Result = RunRecord | { plan: readonly string[] };

const SIZES = [1_000, 10_000, 100_000, 500_000];
const CURVE: readonly ScenarioName[] = ['check-in', 'enrolment', 'fan-out', 'live-output'];
const adapters = Compile(Adapter);

/**
 * What each scenario costs at each size of the fleet, as a multiple of the hello of the same rounds. Writes the record and a
 * page with its curves to `bench/out` after each. Fails if one failed, or a point is dearer than the baseline allows.
 */
export function benchCurve(options: BenchOptions & CurveOptions): Promise<Result> {
  const { target } = options;
  if (target !== null) return measureAll(options, () => measureTarget(options, target));
  const { engines, scenarios, sizes } = options;
  return benchCells(
    options,
    engines.flatMap((engine) =>
      (scenarios ?? CURVE).flatMap((scenario) =>
        (sizes ?? SIZES).map((agents): Cell => ({ scenario, engine, agents })),
      ),
    ),
  );
}

/** The cells of the documents, or those of them that the options choose; given sizes replace those of the set. */
export function benchFull(options: BenchOptions & CurveOptions): Promise<Result> {
  const { engines, scenarios, sizes } = options;
  const chosen = FULL.filter(
    ({ engine, scenario }) =>
      engines.includes(engine) && (scenarios === null || scenarios.includes(scenario)),
  );
  if (sizes === null) return benchCells(options, chosen);
  const each = chosen.flatMap((cell) => sizes.map((agents) => ({ ...cell, agents })));
  return benchCells(options, [...new Map(each.map((cell) => [JSON.stringify(cell), cell])).values()]);
}

async function benchCells(options: BenchOptions & CurveOptions, cells: readonly Cell[]): Promise<Result> {
  const plan = planOf(cells, options.rounds * options.seconds);
  if (options.plan) return { plan };
  for (const line of plan) options.say(line);
  return measureAll(options, (onProgress) => runCells(cells, options, onProgress));
}

async function measureAll(
  { say, baseline }: BenchOptions & CurveOptions,
  measure: (onProgress: (soFar: Measured) => void) => Promise<Measured>,
): Promise<RunRecord> {
  const started = startRecord();
  const before = baseline === null ? null : readRecord(baseline);
  function write({ points, failures }: Measured): RunRecord {
    const record = finishRecord(started, points, failures);
    const file = writeRecord(record);
    const page = drawPage(before === null ? [record] : [record, before]);
    say(`written: ${file} and ${page}`);
    return record;
  }
  const measured = await measure(write);
  const record = write(measured);
  const { lines, worse } = before === null ? { lines: [], worse: 0 } : compareRecords(record, before);
  for (const line of lines) say(line);
  for (const { scenario, engine, agents, why } of measured.failures)
    say(`failed: ${scenario} on ${engine}, ${agents} agents: ${why.split('\n', 1)[0]}`);
  if (measured.failures.length > 0) throw new Error(`${measured.failures.length} of the cells failed`);
  if (worse > 0)
    throw new Error(`${worse} of ${record.points.length} points cost more than the baseline allows`);
  return record;
}

async function measureTarget(options: BenchOptions & CurveOptions, path: string): Promise<Measured> {
  const adapter: unknown = await import(pathToFileURL(resolve(path)).href);
  if (!adapters.Check(adapter))
    throw new Error(`${path} does not export "name" and "start", which bench/target.ts describes`);
  return withFloor(options, async (floor) => {
    const measured: Measured = { points: [], failures: [] };
    for (const agents of options.sizes ?? SIZES) {
      const at = new Date().toISOString();
      const before = oneMinuteLoad();
      const server = await adapter.start(agents);
      try {
        const { url, pid, requests } = server;
        const figures = await measureBeside(floor, options, {
          ...{ url, pid, requests, firstRequests: agents },
          cpuUs: () => ({ server: cpuOf(pid), database: server.databaseCpuUs?.() ?? 0 }),
          title: `${adapter.name}, ${agents.toLocaleString('en')} agents`,
        });
        const figure: Figure = { server: adapter.name, scenario: 'check-in', agents, ...figures };
        measured.points.push({ ...figure, at, load: { before, after: oneMinuteLoad() } });
      } finally {
        await server.stop();
      }
    }
    return measured;
  });
}
