import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { BENCH_PASSWORD, BENCH_USER, startFleet } from './fleet.ts';
import { median, memoryOf } from './processes.ts';
import type { BenchOptions } from './run.ts';

const STARTS = 20;
/** After this the agent has checked in, scanned and reported, and waits for the next round. */
const SETTLE_MS = 8_000;
const BUILD = join(import.meta.dirname, '../scripts/build-agent.ts');

/** Start-up of the compiled agent and its memory while it waits between two check-ins with a real server. */
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
    const token = await registrationToken(fleet.url);
    const config = join(folder.path, 'config');
    const enrol = ['enrol', '--server', fleet.url, '--token', token, '--config', config];
    const [state, spool] = [join(folder.path, 'executor'), join(folder.path, 'spool')];
    const places = ['--allow-insecure-http', '--executor-state', state, '--spool', spool];
    const enrolled = spawnSync(agent, [...enrol, ...places], { encoding: 'utf8' });
    if (enrolled.status !== 0) throw new Error(`enrol: ${enrolled.stdout}${enrolled.stderr}`);
    const running = spawn(agent, ['run', '--config', config], { stdio: 'ignore' });
    try {
      await pause(SETTLE_MS);
      if (running.pid === undefined || running.exitCode !== null) throw new Error('the agent does not run');
      return { startToExitMs: Math.round(median(startsMs) * 10) / 10, idle: memoryOf(running.pid) };
    } finally {
      running.kill('SIGTERM');
    }
  } finally {
    await fleet.stop();
  }
}

async function registrationToken(url: string): Promise<string> {
  const login = await post(`${url}/api/v1/auth/login`, {
    body: { username: BENCH_USER, password: BENCH_PASSWORD },
  });
  return post(`${url}/api/v1/admin/registration-tokens`, { body: { label: 'bench' }, bearer: login });
}

const WithToken = Type.Object({ token: Type.String() });

/** Posts JSON and returns the token of the answer. */
async function post(url: string, { body, bearer }: { body: object; bearer?: string }): Promise<string> {
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
  return Value.Parse(WithToken, answer).token;
}
