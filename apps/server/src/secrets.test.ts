import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from './config.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';
import { createLog } from './platform/log.ts';
import { startServer } from './start.ts';

const PASSWORDS = ['correct horse battery', 'a long enough password', 'a guess that is wrong'];
const JWT_SECRET = 'the secret behind all the tokens of this test';
const ADMIN = '/api/v1/admin';

/** A server with everything that it ever issued: `needles` by what they are. */
async function liveThroughADay(format: 'text' | 'json') {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-secrets-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const lines: string[] = [];
  const log = createLog({ level: 'debug', format, now: systemClock, write: (line) => lines.push(line) });
  const privateKey = generatePrivateKeyHex(systemRandom(32));
  const config = defaultConfig({
    dataDir,
    host: '127.0.0.1',
    port: 0,
    advisorySource: 'off',
    jwtSecret: JWT_SECRET,
    signingPrivateKey: privateKey,
  });
  const started = await startServer(config, { log, now: systemClock, random: systemRandom });
  if (!started.ok) throw new Error(started.fault);
  onTestFinished(started.stop);

  const needles = new Map<string, string>([['JWT secret', JWT_SECRET]]);
  for (const [i, password] of PASSWORDS.entries()) needles.set(`password ${i}`, password);
  const answers: string[] = [];
  async function call(method: string, url: string, { token, body, machineId }: Sent = {}) {
    const answer = await fetch(started.ok ? `${started.url}${url}` : url, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(machineId ? { 'x-machine-id': machineId } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : null, answer };
  }
  /** A call whose answer must hold no secret. */
  async function look(method: string, url: string, sent?: Sent) {
    const { text, status, answer } = await call(method, url, sent);
    answers.push(`${status} ${JSON.stringify([...answer.headers])} ${text}`);
    return status;
  }

  const link = started.application.setupPath ?? '';
  const secret = link.split('/').at(-1) ?? '';
  needles.set('setup link', secret);
  const credentials = { username: 'olga', password: PASSWORDS[1] };
  await look('POST', '/api/v1/auth/setup', { body: { secret, ...credentials } });
  await look('GET', link);
  const login = await call('POST', '/api/v1/auth/login', { body: credentials });
  const admin: string = login.json.token;
  needles.set('operator token', admin);
  for (const cookie of login.answer.headers.getSetCookie()) {
    needles.set(`cookie ${cookie.split('=')[0]}`, cookie.split(';')[0]?.split('=')[1] ?? '');
  }
  for (const password of [PASSWORDS[2], PASSWORDS[2]]) {
    await look('POST', '/api/v1/auth/login', { body: { username: 'olga', password } });
  }
  const operator = { username: 'vera', password: PASSWORDS[0], role: 'viewer' };
  await look('POST', `${ADMIN}/operators`, { token: admin, body: operator });

  const made = await call('POST', `${ADMIN}/registration-tokens`, { token: admin, body: { label: 'one' } });
  const registration: string = made.json.token;
  needles.set('registration token', registration);
  const host = {
    hostname: 'host',
    os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
    agent_version: '1.0.0',
  };
  const machineId = 'machine-1';
  const enrolled = await call('POST', '/api/v1/agents/register', {
    token: registration,
    machineId,
    body: host,
  });
  const access: string = enrolled.json.access_token;
  needles.set('access token', access);
  const family: string[] = [enrolled.json.refresh_token];
  async function renew(refresh_token: string | undefined, request_id?: string) {
    const body = { refresh_token, ...(request_id ? { request_id } : {}) };
    return call('POST', '/api/v1/agents/renew', { machineId, body });
  }
  const requestId = '01900000-0000-7000-8000-0000000000aa';
  const child = await renew(family[0], requestId);
  family.push(child.json.refresh_token);
  needles.set('access token 2', child.json.access_token);
  const again = await renew(family[0], requestId);
  expect(again.json.refresh_token).toBe(family[1]);
  family.push((await renew(family[1])).json.refresh_token);
  for (const [i, token] of family.entries()) needles.set(`refresh token ${i}`, token);

  // Every way to be refused that has a secret in it.
  const forged = `${family[2]?.slice(0, -4)}AAAA`;
  await look('POST', '/api/v1/agents/renew', { machineId, body: { refresh_token: forged } });
  await look('POST', '/api/v1/agents/renew', { machineId: 'other', body: { refresh_token: family[2] } });
  await look('POST', '/api/v1/agents/renew', { machineId, body: { refresh_token: access } });
  await look('POST', '/api/v1/agents/renew', { machineId, body: { refresh_token: family[0], no: 1 } });
  await look('POST', '/api/v1/agents/register', { token: registration, machineId: 'third', body: host });
  await look('GET', '/api/v1/agents', { token: family[2] ?? '' });
  await look('GET', '/api/v1/agents', { token: registration });
  await look('POST', `/api/v1/agents/${enrolled.json.agent_id}/check-in`, {
    token: admin,
    machineId,
    body: {},
  });
  await look('POST', `/api/v1/agents/${enrolled.json.agent_id}/check-in`, {
    token: access,
    machineId,
    body: {},
  });
  await look('GET', `/nothing/${registration}`);
  await look('POST', '/logs/client-error', { body: { error_type: 'nothing', message: access } });
  expect(await look('POST', '/api/v1/agents/renew', { machineId, body: { refresh_token: family[0] } })).toBe(
    401,
  );
  const lists = ['agents', 'updates', 'commands', 'events', 'admin/signing-keys', 'admin/operators'];
  for (const list of [
    ...lists,
    'admin/registration-tokens',
    'admin/rate-limits',
    'public-keys',
    'auth/session',
  ]) {
    expect(await look('GET', `/api/v1/${list}`, { token: admin })).toBe(200);
  }
  return { dataDir, lines, answers, needles, privateKey, stop: started.stop };
}

interface Sent {
  token?: string;
  body?: object;
  machineId?: string;
}

describe.each(['text', 'json'] as const)('nothing secret is where it can be read (log as %s)', (format) => {
  test('not in the log, not in events or any other answer, and not plain in the database', async () => {
    const { dataDir, lines, answers, needles, privateKey, stop } = await liveThroughADay(format);
    await stop();
    const seed = Buffer.from(privateKey.slice(0, 64), 'hex');
    const stored = readdirSync(dataDir).filter((name) => name.startsWith('tidegate.db'));
    const database = Buffer.concat(stored.map((name) => readFileSync(join(dataDir, name))));
    expect(database.length).toBeGreaterThan(10_000);
    const said = [...lines, ...answers].join('\n');
    const found: string[] = [];
    for (const [what, secret] of needles) {
      expect([what, secret.length > 15]).toEqual([what, true]);
      if (said.includes(secret)) found.push(`${what} in the log or an answer`);
      // What the database keeps of a token is nobody's to read either.
      if (said.includes(sha256(secret))) found.push(`hash of ${what} in the log or an answer`);
      if (database.includes(secret)) found.push(`${what} in the database`);
      // Long tokens also in part: the last part of each is what makes it secret.
      const part = secret.split('.').at(-1) ?? '';
      if (part.length > 15 && said.includes(part)) found.push(`part of ${what} in the log or an answer`);
      if (part.length > 15 && database.includes(part)) found.push(`part of ${what} in the database`);
    }
    for (const form of [
      seed.toString('hex'),
      seed.toString('base64').slice(0, 40),
      seed.toString('base64url'),
    ]) {
      if (said.includes(form)) found.push('private key in the log or an answer');
      if (database.includes(form)) found.push('private key in the database');
    }
    if (database.includes(seed)) found.push('private key in the database');
    expect(found).toEqual([]);
    expect(said).not.toContain('$argon2');
  });
});

test('what the process writes is for its own user alone, and SIGTERM ends it with 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-process-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const server = spawn(process.execPath, [main], {
    env: {
      SERVICE_DATA_DIR: dataDir,
      SERVICE_PORT: '0',
      SERVICE_HOST: '127.0.0.1',
      SERVICE_ADVISORY_SOURCE: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const [said, told] = [listen(server.stdout), listen(server.stderr)];
  await expect.poll(() => said.text, { timeout: 15_000 }).toMatch(/^\[INFO\] listening url=/m);
  expect(said.text).toMatch(/^\[INFO\] migrations applied \d+ /m);
  const names = ['', ...readdirSync(dataDir, { recursive: true }).map(String)];
  expect(names).toEqual(expect.arrayContaining(['jwt-secret', 'keys', 'tidegate.db']));
  for (const name of names) expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  // The link goes to who started the server, not into the log.
  const secret = /\/setup\/([\w-]{22})/.exec(told.text)?.[1] ?? 'none';
  expect(secret).toHaveLength(22);
  expect(said.text).not.toContain(secret);
  server.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(said.text).toMatch(/^\[INFO\] stopped /m);
});

function listen(stream: NodeJS.ReadableStream): { text: string } {
  const heard = { text: '' };
  stream.setEncoding('utf8').on('data', (data: string) => {
    heard.text += data;
  });
  return heard;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
