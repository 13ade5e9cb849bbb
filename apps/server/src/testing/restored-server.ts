import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClock } from '@tidegate/testkit/clock';
import { onTestFinished } from 'vitest';
import { type Config, defaultConfig } from '../config.ts';
import { systemRandom } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { startServer } from '../start.ts';
import type { TestEngine } from './engines.ts';
import { NO_REGISTRIES } from './no-registries.ts';

export const OPERATOR = { username: 'olga', password: 'a long enough password' };

/** A real server in this process on a data folder, with a manual clock. */
export interface LivingServer {
  url: string;
  lines: string[];
  call(
    method: string,
    path: string,
    sent?: { token?: string; machineId?: string; body?: object },
  ): Promise<Answer>;
  admin(): Promise<string>;
  stop(): Promise<void>;
}
export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  body: any;
}

export interface Household {
  config: Config;
  clock: ReturnType<typeof createClock>;
  /** Throws with the log line if the server does not start. */
  start(settings?: Partial<Config>): Promise<LivingServer>;
}

/** Starts servers repeatedly on one data folder and one database of an engine. */
export async function createHousehold(
  engine: TestEngine,
  settings: Partial<Config> = {},
): Promise<Household> {
  const place = await engine.place();
  const clock = createClock(Date.UTC(2026, 10, 21, 9));
  const config = defaultConfig({
    ...place,
    host: '127.0.0.1',
    port: 0,
    advisorySource: 'off',
    ...NO_REGISTRIES,
    adminUsername: OPERATOR.username,
    adminPassword: OPERATOR.password,
    ...settings,
  });
  return { config, clock, start: (more = {}) => start({ ...config, ...more }, clock) };
}

async function start(config: Config, clock: Household['clock']): Promise<LivingServer> {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'text', now: clock.now, write: (line) => lines.push(line) });
  const started = await startServer(config, { log, now: clock.now, random: systemRandom });
  if (!started.ok) throw new Error(started.fault);
  let isStopped = false;
  async function stop(): Promise<void> {
    if (isStopped) return;
    isStopped = true;
    if (started.ok) await started.stop();
  }
  onTestFinished(stop);
  // Past the start-up penalty of the rate limits.
  clock.advance(61_000);
  const { url } = started;
  const call: LivingServer['call'] = async (method, path, { token, machineId, body } = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(machineId ? { 'x-machine-id': machineId } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
  const admin = async (): Promise<string> =>
    (await call('POST', '/api/v1/auth/login', { body: OPERATOR })).body.token;
  return { url, lines, call, admin, stop };
}

/** Copies an embedded database by hand, without `tidegate backup`; the server is stopped. */
export function copyDatabase(dataDir: string): { putBack(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-copy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const name = 'tidegate.db';
  copyFileSync(join(dataDir, name), join(folder, name));
  return {
    putBack() {
      for (const part of ['-wal', '-shm']) {
        if (existsSync(join(dataDir, name + part))) rmSync(join(dataDir, name + part));
      }
      copyFileSync(join(folder, name), join(dataDir, name));
    },
  };
}

const HOST = {
  hostname: 'host',
  os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
  agent_version: '1.0.0',
};

export interface EnrolledHost {
  agentId: string;
  machineId: string;
  refreshToken: string;
  accessToken: string;
  /** Renews and keeps the new tokens; returns the status. */
  renew(server: LivingServer): Promise<number>;
}

export async function enrolHost(server: LivingServer, machineId: string): Promise<EnrolledHost> {
  const token = await server.admin();
  const path = '/api/v1/admin/registration-tokens';
  const made = await server.call('POST', path, { token, body: { label: 'one' } });
  const sent = { token: made.body.token, machineId, body: HOST };
  const { status, body } = await server.call('POST', '/api/v1/agents/register', sent);
  if (status !== 201) throw new Error(`enrolment answered ${status}: ${JSON.stringify(body)}`);
  const host: EnrolledHost = {
    agentId: body.agent_id,
    machineId,
    refreshToken: body.refresh_token,
    accessToken: body.access_token,
    async renew(on) {
      const answer = await on.call('POST', '/api/v1/agents/renew', {
        machineId,
        body: { refresh_token: host.refreshToken },
      });
      if (answer.status === 200) {
        host.refreshToken = answer.body.refresh_token;
        host.accessToken = answer.body.access_token;
      }
      return answer.status;
    },
  };
  return host;
}
