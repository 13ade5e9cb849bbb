import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { BENCH_PASSWORD, BENCH_USER, startFleet } from './fleet.ts';
import { cpuOfFamily, median, memoryOf, peakOf } from './processes.ts';
import type { BenchOptions } from './run.ts';

const STARTS = 20;
const CHECK_IN_SECONDS = 10;
/** An agent that used almost no CPU for so long has scanned, reported and planned, and only waits. */
const QUIET_SECONDS = 12;
const QUIET_CPU_US = 100_000;
/** Planning takes about two seconds for each pending update of the host. */
const QUIET_WITHIN_SECONDS = 900;
/** Long enough for several ordinary check-ins. */
const SAMPLES = 45;
const BUILD = join(import.meta.dirname, '../scripts/build-agent.ts');

/** Start-up of the compiled agent, and its memory while it waits between check-ins with a real server. */
export async function benchAgent({ say }: BenchOptions): Promise<Record<string, unknown>> {
  using folder = tmpDir('tidegate-bench-agent-');
  const agent = join(folder.path, 'tidegate-agent');
  const built = spawnSync(process.execPath, [BUILD, '--outfile', agent], { stdio: 'ignore' });
  if (built.status !== 0) return { missing: 'the agent could not be compiled: no Bun for this machine' };
  const startsMs = Array.from({ length: STARTS }, () => {
    const startMs = performance.now();
    const { status } = spawnSync(agent, ['version'], { stdio: 'ignore' });
    if (status !== 0) throw new Error(`the agent ended with ${status}`);
    return performance.now() - startMs;
  });
  say(`start to exit: ${median(startsMs).toFixed(1)} ms`);
  const fleet = await startFleet('sqlite', { agents: 0 });
  if ('missing' in fleet) return fleet;
  try {
    const { bearer, token } = await registrationToken(fleet.url);
    const config = join(folder.path, 'config');
    const enrol = ['enrol', '--json', '--server', fleet.url, '--config', config];
    const [state, spool] = [join(folder.path, 'executor'), join(folder.path, 'spool')];
    const places = [
      '--ecosystems',
      'apt',
      '--allow-insecure-http',
      '--executor-state',
      state,
      '--spool',
      spool,
    ];
    // A container would have to name the source of its machine id; this agent exists only for minutes.
    const source = ['--machine-id-source', 'machine-id'];
    const env = { ...process.env, TIDEGATE_TOKEN: token };
    const enrolled = spawnSync(agent, [...enrol, ...places, ...source], { encoding: 'utf8', env });
    if (enrolled.status !== 0) throw new Error(`enrol: ${enrolled.stdout}${enrolled.stderr}`);
    const { agent_id: agentId } = Value.Parse(WithAgentId, JSON.parse(enrolled.stdout));
    const polling = { interval_seconds: CHECK_IN_SECONDS };
    await post(`${fleet.url}/api/v1/agents/${agentId}/polling`, { body: polling, bearer });
    const running = spawn(agent, ['run', '--config', config], { stdio: 'ignore' });
    try {
      if (running.pid === undefined) throw new Error('the agent did not start');
      const busySeconds = await untilQuiet(running.pid);
      say(`scanned, reported and planned after ${busySeconds} s`);
      const idle = await sampleMemory(running.pid);
      return { startToExitMs: Math.round(median(startsMs) * 10) / 10, busySeconds, idle };
    } finally {
      running.kill('SIGTERM');
    }
  } finally {
    await fleet.stop();
  }
}

/** Waits until the agent has nothing left to do, and returns the seconds that it took. */
async function untilQuiet(pid: number): Promise<number> {
  let quietSince = 0;
  let atUs = cpuOfFamily(pid);
  for (let second = 1; second <= QUIET_WITHIN_SECONDS; second += 1) {
    await pause(1_000);
    const nowUs = cpuOfFamily(pid);
    if (nowUs - atUs > QUIET_CPU_US) [quietSince, atUs] = [second, nowUs];
    if (second - quietSince >= QUIET_SECONDS) return quietSince;
  }
  throw new Error(`the agent is still busy after ${QUIET_WITHIN_SECONDS} s`);
}

/** Memory between check-ins, sampled once a second; `peakKb` is the highest value since the start. */
async function sampleMemory(pid: number): Promise<Record<string, number>> {
  const samples: ReturnType<typeof memoryOf>[] = [];
  while (samples.length < SAMPLES) {
    await pause(1_000);
    samples.push(memoryOf(pid));
  }
  const rss = samples.map(({ rssKb }) => rssKb);
  const middle = (name: keyof (typeof samples)[number]) => median(samples.map((sample) => sample[name]));
  return {
    ...{ rssKb: middle('rssKb'), rssMaxKb: Math.max(...rss), pssKb: middle('pssKb') },
    ...{ anonymousKb: middle('anonymousKb'), peakKb: peakOf(pid) },
  };
}

async function registrationToken(url: string): Promise<{ bearer: string; token: string }> {
  const login = await post(`${url}/api/v1/auth/login`, {
    body: { username: BENCH_USER, password: BENCH_PASSWORD },
  });
  const bearer = Value.Parse(WithToken, login).token;
  const body = { label: 'bench' };
  const made = await post(`${url}/api/v1/admin/registration-tokens`, { body, bearer });
  return { bearer, token: Value.Parse(WithToken, made).token };
}

const WithToken = Type.Object({ token: Type.String() });
const WithAgentId = Type.Object({ agent_id: Type.String() });

/** Posts JSON and returns the answer. */
async function post(url: string, { body, bearer }: { body: object; bearer?: string }): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${url}: ${JSON.stringify(answer)}`);
  return answer;
}
