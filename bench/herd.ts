import { loadavg } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { startFleet } from './fleet.ts';
import { runHerds } from './herd-processes.ts';
import { logIn } from './operator-client.ts';
import type { PageTimes } from './operator-watch.ts';
import { peakOf, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';

const OUTAGE_MS = 3_600_000;
/** All come back within this time of the start. */
const WITHIN_MS = 60_000;
const UNTIL_MS = 420_000;
/** How long the fleet is watched when it is back. */
const SETTLE_MS = 60_000;

/** A fleet that comes back at once after an outage of an hour, and an operator who works meanwhile. */
export async function benchHerd({ engines, agents, tokens = 'expired', say }: BenchOptions): Promise<object> {
  if (!pinLoad()) say('one core, or no taskset: server and load share the core');
  const result: Record<string, object> = {};
  for (const engine of engines) {
    const areExpired = tokens === 'expired';
    const tokensFromMs = areExpired ? Date.now() - OUTAGE_MS : Date.now();
    const fleet = await startFleet(engine, { agents, tokensFromMs });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      const token = await logIn(fleet.url).then((call) => call.token);
      const loadBefore = loadavg()[0];
      const cpuBefore = fleet.cpuUs();
      const pages = watchPages({ url: fleet.url, token, durationMs: WITHIN_MS * 2 });
      const herd = await runHerds({
        ...{
          url: fleet.url,
          agents: fleet.agents,
          areExpired,
          withinMs: WITHIN_MS,
          untilMs: UNTIL_MS,
          settleMs: SETTLE_MS,
        },
      });
      const cpu = fleet.cpuUs();
      const back = herd.backMs.toSorted((a, b) => a - b);
      const seconds = (share: number) => rounded((back[Math.ceil(agents * share) - 1] ?? Number.NaN) / 1_000);
      const { kept, fresh, refused } = await pages;
      result[engine] = {
        ...{ agents, tokens, back: back.length, lost: herd.lost },
        ...{ back50Seconds: seconds(0.5), back99Seconds: seconds(0.99), back100Seconds: seconds(1) },
        ...{
          refused: herd.refused,
          requestsPerSecondMax: Math.max(...herd.requestsPerSecond.filter(Boolean)),
        },
        pageKeptP50Ms: at(kept, 0.5),
        pageKeptP99Ms: at(kept, 0.99),
        pageNewP50Ms: at(fresh, 0.5),
        pageNewP99Ms: at(fresh, 0.99),
        pagesRefused: refused,
        rssPeakMb: Math.round(peakOf(fleet.pid) / 1_024),
        serverCpuSeconds: rounded((cpu.server - cpuBefore.server) / 1e6),
        databaseCpuSeconds: rounded((cpu.database - cpuBefore.database) / 1e6),
        load: [loadBefore, loadavg()[0]],
      };
      say(`${engine}: ${JSON.stringify(result[engine])}`);
    } finally {
      await fleet.stop();
    }
  }
  return result;
}

function watchPages(workerInput: { url: string; token: string; durationMs: number }): Promise<PageTimes> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(join(import.meta.dirname, 'operator-watch.ts'), { workerData: workerInput });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
