import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { type BenchServer, IDLE_CHECK_IN, startFleet } from './fleet.ts';
import { reportBody } from './inventory.ts';
import { tellsMemory } from './memory-at-rest.ts';
import { logIn } from './operator-client.ts';
import { memoryOf, pinLoad } from './processes.ts';
import { startRecord, writeJson } from './record.ts';
import type { BenchOptions } from './run.ts';
import { paced } from './send.ts';
import { slopeOf } from './slope.ts';
import { createHost } from './soak-host.ts';

const EVERY_MS = 60_000;
/** Each host reports its packages in every so many of its turns, with ten of them changed. */
const REPORT_EVERY = 20;
const PAGE_EVERY_MS = 2_000;
const SAMPLE_EVERY_MS = 15_000;
/** Before it, caches fill and V8 finds the size of its heap. */
const WARM_UP = 1 / 3;
/** What is reachable after a full collection, at most: less than a host of 1,500 that leaves 3 kB at each report. */
const LIVE_MAX_MB_PER_HOUR = 10;
/** Memory that is no mapped file: besides a leak, what the allocator and the page caches of SQLite still take. */
const ANONYMOUS_MAX_MB_PER_HOUR = 40;
/** A shorter run tells nothing of growth. */
const JUDGED_FROM_HOURS = 1 / 6;
/** Open files at rest may differ by the connections that an operator keeps. */
const FILES_MAX = 4;

export interface SoakOptions {
  minutes: number;
}

interface Sample {
  hours: number;
  /** Reachable from JavaScript, after a full collection. */
  liveMb: number;
  anonymousMb: number;
  rssMb: number;
  files: number;
}

/**
 * Check-ins over a connection each, renewals, reports and the pages of an operator, at a steady pace. Fails
 * if memory goes on growing, if files stay open, or if an answer is not the one expected.
 */
export async function benchSoak(options: BenchOptions & SoakOptions): Promise<Record<string, unknown>> {
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    using folder = tmpDir('tidegate-bench-memory-');
    const memory = tellsMemory(folder.path);
    const fleet = await startFleet(engine, { agents: options.agents, ...memory });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    const started = startRecord();
    try {
      const run = await soak(fleet, { ...options, liveBytes: () => liveBytes(memory, fleet.pid) });
      options.say(`written: ${writeJson(`soak-${engine}`, { ...started, ...run })}`);
      const figures = judge(run);
      result[engine] = figures;
      options.say(`${engine}: ${JSON.stringify(figures)}`);
    } finally {
      await fleet.stop();
    }
  }
  return result;
}

async function liveBytes({ atRest }: ReturnType<typeof tellsMemory>, pid: number): Promise<number> {
  const { heapUsed, external } = await atRest(pid);
  return heapUsed + external;
}

interface Run {
  samples: Sample[];
  filesBefore: number;
  filesAfter: number;
  /** Requests without an answer, or asked to come later, as happens on a busy machine. */
  refused: number;
}

async function soak(
  fleet: BenchServer,
  { minutes, say, liveBytes }: BenchOptions & SoakOptions & { liveBytes: () => Promise<number> },
): Promise<Run> {
  const operator = await logIn(fleet.url);
  const openFiles = () => readdirSync(`/proc/${fleet.pid}/fd`).length;
  const filesBefore = openFiles();
  const startMs = performance.now();
  const endMs = startMs + minutes * 60_000;
  const samples: Sample[] = [];
  let refused = 0;
  const hosts = fleet.agents.map((agent, index) => {
    const host = createHost(fleet.url, agent);
    const beginMs = startMs + (index * EVERY_MS) / fleet.agents.length;
    return paced({ everyMs: EVERY_MS, beginMs, endMs }, async (turn) => {
      const isDone = await host.post('/check-in', Buffer.from(IDLE_CHECK_IN));
      if (!isDone) refused++;
      else if ((turn + index) % REPORT_EVERY === 0 && !(await host.put('/inventory/apt', reportBody(turn))))
        refused++;
    });
  });
  const pages = paced({ everyMs: PAGE_EVERY_MS, beginMs: startMs, endMs }, async (turn) => {
    const page = ['overview', 'agents?limit=50', 'updates?limit=50', 'events?limit=50', 'packages?limit=50'];
    await operator('GET', `/api/v1/${page[turn % page.length]}`);
  });
  const sampling = paced({ everyMs: SAMPLE_EVERY_MS, beginMs: startMs, endMs }, async (turn) => {
    const liveMb = (await liveBytes()) / 1_048_576;
    const { anonymousKb, rssKb } = memoryOf(fleet.pid);
    const sample = { liveMb, anonymousMb: anonymousKb / 1_024, rssMb: rssKb / 1_024, files: openFiles() };
    samples.push({ hours: (performance.now() - startMs) / 3_600_000, ...sample });
    if (turn % 20 === 0)
      say(`${((turn * SAMPLE_EVERY_MS) / 60_000).toFixed(0)} minutes: ${JSON.stringify(sample)}`);
  });
  await Promise.all([...hosts, pages, sampling]);
  // Connections that the server still holds end here; a leak does not.
  await pause(SAMPLE_EVERY_MS);
  return { samples, filesBefore, filesAfter: openFiles(), refused };
}

function judge({ samples, filesBefore, filesAfter, refused }: Run) {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const perHour = (key: keyof Sample) =>
    rounded(slopeOf(settled.map((one) => ({ at: one.hours, value: one[key] }))));
  const last = settled.at(-1);
  const figures = {
    ...{ liveMbPerHour: perHour('liveMb'), anonymousMbPerHour: perHour('anonymousMb') },
    ...{ rssMbPerHour: perHour('rssMb'), liveMb: rounded(last?.liveMb), rssMb: rounded(last?.rssMb) },
    ...{ filesBefore, filesAfter, refused },
  };
  const text = JSON.stringify(figures);
  if (!(filesAfter <= filesBefore + FILES_MAX)) throw new Error(`files stay open: ${text}`);
  if (!(last && last.hours > JUDGED_FROM_HOURS)) return figures;
  // Not a number, for too few samples, fails too.
  if (!(figures.liveMbPerHour <= LIVE_MAX_MB_PER_HOUR))
    throw new Error(`reachable memory grows by more than ${LIVE_MAX_MB_PER_HOUR} MB an hour: ${text}`);
  if (!(figures.anonymousMbPerHour <= ANONYMOUS_MAX_MB_PER_HOUR))
    throw new Error(`memory grows by more than ${ANONYMOUS_MAX_MB_PER_HOUR} MB an hour: ${text}`);
  return figures;
}

function rounded(value = Number.NaN): number {
  return Math.round(value * 10) / 10;
}
