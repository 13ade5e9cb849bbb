import { Agent } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { type BenchAgent, IDLE_CHECK_IN } from './fleet.ts';
import type { HostileRequest } from './hostile-bodies.ts';
import { paced, send } from './send.ts';

/** The input of the thread of the honest hosts. */
export interface HonestHosts {
  url: string;
  agents: readonly BenchAgent[];
  everyMs: number;
  /** Check-ins that begin earlier are not measured. */
  warmUpMs: number;
  durationMs: number;
}

const CHECK_IN: HostileRequest = {
  method: 'POST',
  path: '/check-in',
  gzip: false,
  body: Buffer.from(IDLE_CHECK_IN),
};

/** Sends idle check-ins of honest hosts, spread over the interval, and reports how many milliseconds each took. */
async function checkIns({ url, agents, everyMs, warmUpMs, durationMs }: HonestHosts): Promise<number[]> {
  const connections = new Agent({ keepAlive: true });
  const startMs = performance.now();
  const took: number[] = [];
  await Promise.all(
    agents.map((agent, index) => {
      const beginMs = startMs + (index * everyMs) / agents.length;
      return paced({ everyMs, beginMs, endMs: startMs + durationMs }, async () => {
        const sentMs = performance.now();
        const status = await send({ url, agent, one: CHECK_IN, connections });
        if (status !== '200') throw new Error(`an honest check-in was answered ${status}`);
        if (sentMs >= startMs + warmUpMs) took.push(performance.now() - sentMs);
      });
    }),
  );
  connections.destroy();
  return took;
}

parentPort?.postMessage(await checkIns(workerData));
