import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { paced } from './send.ts';

/** The input of the thread of the operator. */
export interface OperatorWatch {
  url: string;
  token: string;
  durationMs: number;
}

/** How long each page took, in milliseconds, on a kept connection and on a new one. */
export interface PageTimes {
  kept: number[];
  fresh: number[];
  refused: Record<string, number>;
}

const PAGES = ['/api/v1/agents?limit=50', '/api/v1/overview', '/api/v1/events?limit=50'];
const EVERY_MS = 500;

/** Opens pages of the console one after another while the herd comes back. */
async function watchPages({ url, token, durationMs }: OperatorWatch): Promise<PageTimes> {
  const times: PageTimes = { kept: [], fresh: [], refused: {} };
  const lanes = [
    { took: times.kept, agent: new Agent({ keepAlive: true }) },
    { took: times.fresh, agent: new Agent({ keepAlive: false }) },
  ];
  const beginMs = performance.now();
  await Promise.all(
    lanes.map(({ took, agent }) =>
      paced({ everyMs: EVERY_MS, beginMs, endMs: beginMs + durationMs }, async (turn) => {
        const sentMs = performance.now();
        const status = await get(`${url}${PAGES[turn % PAGES.length]}`, { token, agent });
        took.push(performance.now() - sentMs);
        if (status !== '200') times.refused[status] = (times.refused[status] ?? 0) + 1;
      }),
    ),
  );
  return times;
}

function get(url: string, { token, agent }: { token: string; agent: Agent }): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` }, timeout: 30_000 });
    sent.once('response', (answer) => {
      answer.resume();
      answer.once('end', () => resolve(String(answer.statusCode)));
    });
    sent.once('timeout', () => sent.destroy(new Error('timeout')));
    sent.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    sent.end();
  });
}

parentPort?.postMessage(await watchPages(workerData));
