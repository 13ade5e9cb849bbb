import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type BenchAgent, type BenchServer, IDLE_CHECK_IN, startFleet } from './fleet.ts';
import { reportBody } from './inventory.ts';
import { logIn } from './operator-client.ts';
import { median, memoryOf, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';
import { paced } from './send.ts';

const EVERY_MS = 60_000;
/** Each host reports its packages in every so many of its turns, with ten of them changed. */
const REPORT_EVERY = 20;
const PAGE_EVERY_MS = 2_000;
const SAMPLE_EVERY_MS = 10_000;
/** Before it, caches fill and V8 finds the size of its heap. */
const WARM_UP = 1 / 3;
/** Above what garbage collection moves in half an hour. */
const SLOPE_MAX_MB_PER_HOUR = 40;
/** Open files may differ by the connections of the moment. */
const FILES_MAX = 16;

export interface SoakOptions {
  minutes: number;
}

interface Sample {
  hours: number;
  rssMb: number;
  files: number;
}

/**
 * Check-ins over a connection each, renewals, reports and the pages of an operator, at a steady pace. Fails
 * if resident memory goes on growing, if files stay open, or if an answer is not the one expected.
 */
export async function benchSoak(options: BenchOptions & SoakOptions): Promise<Record<string, unknown>> {
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    const fleet = await startFleet(engine, { agents: options.agents });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      const samples = await soak(fleet, options);
      const figures = judge(samples.slice(Math.floor(samples.length * WARM_UP)));
      result[engine] = figures;
      options.say(`${engine}: ${JSON.stringify(figures)}`);
    } finally {
      await fleet.stop();
    }
  }
  return result;
}

async function soak(fleet: BenchServer, { minutes, say }: BenchOptions & SoakOptions): Promise<Sample[]> {
  const startMs = performance.now();
  const endMs = startMs + minutes * 60_000;
  const samples: Sample[] = [];
  const hosts = fleet.agents.map((agent, index) => {
    const host = createHost(fleet.url, agent);
    const beginMs = startMs + (index * EVERY_MS) / fleet.agents.length;
    return paced({ everyMs: EVERY_MS, beginMs, endMs }, async (turn) => {
      await host.post('/check-in', Buffer.from(IDLE_CHECK_IN));
      if ((turn + index) % REPORT_EVERY === 0) await host.put('/inventory/apt', reportBody(turn));
    });
  });
  const operator = await logIn(fleet.url);
  const pages = paced({ everyMs: PAGE_EVERY_MS, beginMs: startMs, endMs }, async (turn) => {
    const page = ['overview', 'agents?limit=50', 'updates?limit=50', 'events?limit=50', 'packages?limit=50'];
    await operator('GET', `/api/v1/${page[turn % page.length]}`);
  });
  const sampling = paced({ everyMs: SAMPLE_EVERY_MS, beginMs: startMs, endMs }, async (turn) => {
    const rssMb = memoryOf(fleet.pid).rssKb / 1_024;
    const files = readdirSync(`/proc/${fleet.pid}/fd`).length;
    samples.push({ hours: (performance.now() - startMs) / 3_600_000, rssMb, files });
    if (turn % 30 === 0) say(`${(turn / 6).toFixed(0)} minutes: ${rssMb.toFixed(0)} MB, ${files} open files`);
  });
  await Promise.all([...hosts, pages, sampling]);
  // Connections that the server still holds end here; a leak does not.
  await pause(SAMPLE_EVERY_MS);
  return samples;
}

const Renewed = Type.Object({ access_token: Type.String(), refresh_token: Type.String() });

/** A host that renews its token when it is refused, as an agent does. */
function createHost(url: string, agent: BenchAgent) {
  let { token, refreshToken } = agent;
  async function ask(method: string, path: string, body: Uint8Array<ArrayBuffer>): Promise<Response> {
    return fetch(`${url}/api/v1/agents/${path}`, {
      method,
      body,
      headers: {
        authorization: `Bearer ${token}`,
        'x-machine-id': agent.machineId,
        'content-type': 'application/json',
        connection: 'close',
      },
    });
  }
  async function send(method: string, path: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const first = await ask(method, `${agent.agentId}${path}`, body);
    await first.arrayBuffer();
    if (first.status === 200) return;
    if (first.status !== 401) throw new Error(`${method} ${path} was answered ${first.status}`);
    const asked = { refresh_token: refreshToken, request_id: randomUUID() };
    const renewal = await ask('POST', 'renew', Buffer.from(JSON.stringify(asked)));
    if (renewal.status !== 200) throw new Error(`a renewal was answered ${renewal.status}`);
    const renewed = Value.Parse(Renewed, await renewal.json());
    ({ access_token: token, refresh_token: refreshToken } = renewed);
    const second = await ask(method, `${agent.agentId}${path}`, body);
    await second.arrayBuffer();
    if (second.status !== 200)
      throw new Error(`${method} ${path} was answered ${second.status} after a renewal`);
  }
  return {
    post: (path: string, body: Uint8Array<ArrayBuffer>) => send('POST', path, body),
    put: (path: string, body: Uint8Array<ArrayBuffer>) => send('PUT', path, body),
  };
}

function judge(samples: readonly Sample[]): { mbPerHour: number; rssMb: number; files: number } {
  const slope = slopeOf(samples);
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const filesOf = (some: readonly Sample[]) => median(some.map(({ files }) => files));
  const [filesBefore, files] = [filesOf(samples.slice(0, quarter)), filesOf(samples.slice(-quarter))];
  const rssMb = Math.round(median(samples.map((sample) => sample.rssMb)));
  // Not a number, for too few samples, fails too.
  if (!(slope <= SLOPE_MAX_MB_PER_HOUR))
    throw new Error(`memory grows by ${slope.toFixed(0)} MB an hour; at most ${SLOPE_MAX_MB_PER_HOUR}`);
  if (!(files <= filesBefore + FILES_MAX)) throw new Error(`open files grew from ${filesBefore} to ${files}`);
  return { mbPerHour: Math.round(slope * 10) / 10, rssMb, files };
}

/** The median of the slopes between all pairs (Theil and Sen): one garbage collection does not move it. */
function slopeOf(samples: readonly Sample[]): number {
  return median(
    samples.flatMap((a, i) =>
      samples.slice(i + 1).map((b) => (b.rssMb - a.rssMb) / Math.max(b.hours - a.hours, Number.EPSILON)),
    ),
  );
}
