import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { startFleet } from './fleet.ts';
import { runHerds } from './herd-processes.ts';
import { logIn } from './operator-client.ts';
import type { PageTimes } from './operator-watch.ts';
import { peakOf } from './processes.ts';
import { cpuBetween, pointOf, quantilesOf, type Scenario } from './scenario.ts';

const OUTAGE_MS = 3_600_000;
/** All come back within this time of the start. */
const WITHIN_MS = 60_000;
const UNTIL_MS = 420_000;
/** How long the fleet is watched when it is back. */
const SETTLE_MS = 60_000;

export const measureValidHerd: Scenario = (of, beside) => measureHerd('valid', of, beside);
export const measureExpiredHerd: Scenario = (of, beside) => measureHerd('expired', of, beside);

/**
 * A fleet that comes back at once after an outage of an hour, and an operator who works meanwhile. How long each agent takes until its first
 * check-in; CPU of all requests for each agent, until the fleet has polled for a while.
 */
async function measureHerd(
  tokens: 'valid' | 'expired',
  ...[of, { floor, options }]: Parameters<Scenario>
): ReturnType<Scenario> {
  const areExpired = tokens === 'expired';
  const { agents } = of;
  const tokensFromMs = areExpired ? Date.now() - OUTAGE_MS : Date.now();
  const fleet = await startFleet(of.engine, { agents, tokensFromMs });
  if ('missing' in fleet) return fleet;
  try {
    const helloUs = [await floor.costUs(options.seconds)];
    const token = await logIn(fleet.url).then((call) => call.token);
    const before = fleet.cpuUs();
    const pages = watchPages({ url: fleet.url, token, durationMs: WITHIN_MS * 2 });
    const herd = await runHerds({
      ...{ url: fleet.url, agents: fleet.agents, areExpired },
      ...{ withinMs: WITHIN_MS, untilMs: UNTIL_MS, settleMs: SETTLE_MS },
    });
    const cpu = cpuBetween(before, fleet.cpuUs());
    helloUs.push(await floor.costUs(options.seconds));
    const { kept, fresh, refused } = await pages;
    const [pageKept, pageNew] = [quantilesOf(kept), quantilesOf(fresh)];
    const { backMs } = herd;
    if (backMs.length === 0) throw new Error(`no agent is back: ${JSON.stringify(herd.refused)}`);
    const more = {
      ...{ back: backMs.length, lost: herd.lost, ...herd.refused },
      'requests a second, most': Math.max(...herd.requestsPerSecond.filter(Boolean)),
      ...{ 'page p50 ms, kept': pageKept(0.5), 'page p99 ms, kept': pageKept(0.99) },
      ...{ 'page p50 ms, new': pageNew(0.5), 'page p99 ms, new': pageNew(0.99) },
      ...Object.fromEntries(Object.entries(refused).map(([status, count]) => [`page ${status}`, count])),
      ...{ 'CPU s, server': Math.round(cpu.server / 1e6), 'CPU s, database': Math.round(cpu.database / 1e6) },
    };
    options.say(`${of.engine}, ${tokens}: ${JSON.stringify(more)}`);
    const rssMb = Math.round(peakOf(fleet.pid) / 1_024);
    const seconds = backMs.reduce((last, one) => Math.max(last, one), 0) / 1_000;
    return [pointOf({ of, scenario: `herd-${tokens}`, tookMs: backMs, seconds, cpu, helloUs, rssMb, more })];
  } finally {
    await fleet.stop();
  }
}

function watchPages(workerInput: { url: string; token: string; durationMs: number }): Promise<PageTimes> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(join(import.meta.dirname, 'operator-watch.ts'), { workerData: workerInput });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
