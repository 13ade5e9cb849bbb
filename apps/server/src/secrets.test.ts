import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { Secret, TOTP } from 'otpauth';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCommand } from './cli/run-command.ts';
import { defaultConfig } from './config.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';
import { createLog } from './platform/log.ts';
import { startServer } from './start.ts';
import { ENGINES, type TestEngine } from './testing/engines.ts';
import { NO_REGISTRIES, NO_REGISTRIES_ENV } from './testing/no-registries.ts';
import { secretsIn } from './testing/secret-forms.ts';

const PASSWORDS = [
  'correct horse battery',
  'a long enough password',
  'a guess that is wrong',
  'what the shell was told',
  'told to the shell again',
];
/** Secrets where nobody expects them. */
const ODD_SECRETS = {
  'password of a proxy': 'proxy-password-7391',
  'password of a source': 'source-password-5527',
  'token in a query': 'query-token-88120045',
  'password of another database': 'database-p@ssword-42',
  'token in an unknown setting': 'unknown-token-660127',
  'password with an @': 'first-part@second-part',
};
const ODD_ENV = {
  HTTPS_PROXY: `http://user:${ODD_SECRETS['password of a proxy']}@proxy.test:3128`,
  SERVICE_NPM_REGISTRY_URL: `https://user:${ODD_SECRETS['password of a source']}@registry.test/npm`,
  SERVICE_PYPI_URL: `https://pypi.test/simple?token=${ODD_SECRETS['token in a query']}`,
  SERVICE_METRICS_TOKEN: ODD_SECRETS['token in an unknown setting'],
};
const ODD_PLACES = [
  `connect to postgres://tidegate:${encodeURIComponent(ODD_SECRETS['password of another database'])}@db.test/x failed`,
  `connect to postgres://tidegate:${ODD_SECRETS['password with an @']}@db.test/x failed`,
  `{"password":"${ODD_SECRETS['password of another database']}"}`,
  ...Object.entries(ODD_ENV).map(([name, value]) => `${name}=${value}`),
];
const JWT_SECRET = 'the secret behind all the tokens of this test';
const ADMIN = '/api/v1/admin';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const NOBODY = '01900000-0000-7000-8000-0000000000ff';
/** Ends the caller's session, or never ends. */
const NOT_TRIED = ['/api/v1/auth/logout', '/api/v1/stream'];

/** A server and every secret that it issued: `needles`, by kind. */
async function liveThroughADay(engine: TestEngine, format: 'text' | 'json') {
  const { dataDir, databaseUrl } = await engine.place();
  const lines: string[] = [];
  const log = createLog({ level: 'debug', format, now: systemClock, write: (line) => lines.push(line) });
  const privateKey = generatePrivateKeyHex(systemRandom(32));
  const config = defaultConfig({
    dataDir,
    databaseUrl,
    host: '127.0.0.1',
    port: 0,
    advisorySource: 'off',
    ...NO_REGISTRIES,
    jwtSecret: JWT_SECRET,
    signingPrivateKey: privateKey,
  });
  const start = async () => {
    const outcome = await startServer(config, { log, now: systemClock, random: systemRandom });
    if (!outcome.ok) throw new Error(outcome.fault);
    onTestFinished(outcome.stop);
    return outcome;
  };

  const needles = new Map<string, string>([
    ['JWT secret', JWT_SECRET],
    ['private key', privateKey],
    ['seed', privateKey.slice(0, 64)],
  ]);
  for (const [i, password] of PASSWORDS.entries()) needles.set(`password ${i}`, password);
  const answers: string[] = [];
  /** The command line, while no server runs: in the same process it would wait for the server, and so for itself. */
  async function command(
    words: readonly string[],
    stdin = '',
    more: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const out: string[] = [];
    const code = await runCommand(words, {
      env: {
        SERVICE_DATA_DIR: dataDir,
        SERVICE_ADVISORY_SOURCE: 'off',
        ...NO_REGISTRIES_ENV,
        SERVICE_JWT_SECRET: JWT_SECRET,
        SERVICE_SIGNING_PRIVATE_KEY: privateKey,
        ...(databaseUrl === null ? {} : { SERVICE_DATABASE_URL: databaseUrl }),
        ...more,
      },
      now: systemClock,
      random: systemRandom,
      out: (line) => out.push(line),
      err: (line) => lines.push(line),
      isTerminal: false,
      stdin: Readable.from([stdin]),
    });
    expect([words, code]).toEqual([words, 0]);
    return out.join('\n');
  }

  await (await start()).stop();
  const second = new URL(await command(['operators', 'link'])).pathname.split('/').at(-1) ?? '';
  needles.set('setup link of the command', second);
  const started = await start();

  async function call(method: string, url: string, { token, body, machineId }: Sent = {}) {
    const answer = await fetch(`${started.url}${url}`, {
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
  /** A call whose answer must contain no secret. */
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
  const begun = await call('POST', '/api/v1/auth/totp', { token: admin });
  const seed = Secret.fromBase32(begun.json.secret);
  needles.set('secret of the app', begun.json.secret);
  needles.set('secret of the app as hex', Buffer.from(seed.bytes).toString('hex'));
  needles.set('secret of the app as base64', Buffer.from(seed.bytes).toString('base64url'));
  const code = new TOTP({ secret: seed }).generate({ timestamp: systemClock() });
  const confirmed = await call('POST', '/api/v1/auth/totp/confirm', { token: admin, body: { code } });
  const recoveryCodes: string[] = confirmed.json.recovery_codes;
  for (const [i, recovery] of recoveryCodes.entries()) {
    needles.set(`recovery code ${i}`, recovery);
    needles.set(`letters of recovery code ${i}`, recovery.replaceAll('-', ''));
  }
  for (const recovery_code of [recoveryCodes[0], recoveryCodes[0]]) {
    await look('POST', '/api/v1/auth/step-up', { token: admin, body: { recovery_code } });
  }
  await look('POST', '/api/v1/auth/login', { body: { ...credentials, totp: code } });
  const operator = { username: 'vera', password: PASSWORDS[0], role: 'viewer' };
  await look('POST', `${ADMIN}/operators`, { token: admin, body: operator });

  const made = await call('POST', `${ADMIN}/registration-tokens`, { token: admin, body: { label: 'one' } });
  const registration: string = made.json.token;
  needles.set('registration token', registration);
  const scripted = await call('POST', `${ADMIN}/api-tokens`, {
    token: admin,
    body: { label: 'ci', role: 'admin', expires_at: new Date(systemClock() + 86_400_000).toISOString() },
  });
  const apiToken: string = scripted.json.token;
  needles.set('API token', apiToken);
  expect(await look('GET', '/api/v1/agents', { token: apiToken })).toBe(200);
  await look('POST', `${ADMIN}/operators`, { token: apiToken, body: { no: apiToken } });
  await look('POST', `/nothing/${apiToken}`, { token: apiToken });
  expect(await look('DELETE', `${ADMIN}/api-tokens/${scripted.json.id}`, { token: admin })).toBe(204);
  expect(await look('GET', '/api/v1/agents', { token: apiToken })).toBe(401);
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

  // Every kind of refusal with a secret in the request.
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
    'admin/api-tokens',
    'admin/rate-limits',
    'public-keys',
    'auth/session',
  ]) {
    expect(await look('GET', `/api/v1/${list}`, { token: admin })).toBe(200);
  }
  // Every endpoint, with a secret where none belongs: the answer must not repeat it.
  const { paths }: { paths: Record<string, Record<string, object>> } = (
    await call('GET', '/api/openapi.json')
  ).json;
  let tried = 0;
  for (const [path, methods] of Object.entries(paths).filter(([path]) => !NOT_TRIED.includes(path))) {
    const url = path.replaceAll(/\{agent_id\}/g, enrolled.json.agent_id).replaceAll(/\{\w+\}/g, NOBODY);
    for (const name of Object.keys(methods)) {
      const method = name.toUpperCase();
      const body =
        method === 'GET' || method === 'DELETE' ? {} : { body: { no: registration, such: PASSWORDS[1] } };
      await look(method, `${url}${method === 'GET' ? `?no=${family[2]}` : ''}`, { token: admin, ...body });
      await look(method, url, { token: access, machineId, ...body });
      tried++;
    }
  }
  expect(tried).toBeGreaterThan(40);

  const live = await readStored(dataDir, databaseUrl);
  await started.stop();
  needles.set('registration token of the command', await command(['tokens', 'add', '--label', 'cli']));
  lines.push(await command(['operators', 'add', 'carl', '--role', 'viewer'], PASSWORDS[3]));
  lines.push(await command(['operators', 'set-password', 'carl'], PASSWORDS[4]));
  // The program sets its umask; the server of this test cannot.
  execFileSync('chmod', ['-R', 'go-rwx', dataDir]);
  for (const words of ['operators list', 'tokens list', 'keys list', 'doctor', 'doctor --verify-events']) {
    lines.push(await command([...words.split(' '), '--json']));
  }

  const oldLog = join(dataDir, 'day.log');
  // As a log of another program could have them. A password without a sign of being one has no form.
  const leaked = [...needles]
    .filter(([what]) => !/^(password|letters of)/.test(what))
    .map(([what, secret]) =>
      what.startsWith('cookie')
        ? `cookie: tg=${secret}; a=b`
        : what.startsWith('setup')
          ? `/setup/${secret}`
          : `"${secret}"`,
    );
  writeFileSync(oldLog, [...ODD_PLACES, ...leaked, ...lines].join('\n'));
  lines.push(await command(['support', '--out', join(dataDir, 'day.tar.gz'), '--log', oldLog], '', ODD_ENV));
  rmSync(oldLog);
  for (const [what, secret] of Object.entries(ODD_SECRETS)) needles.set(what, secret);

  const backup = join(dataDir, 'day.backup');
  lines.push(await command(['backup', '--to', backup]));
  lines.push(await command(['events', 'export', '--out', join(dataDir, 'day.ndjson')]));
  const stored = await readStored(dataDir, databaseUrl);
  for (const [name, bytes] of live) stored.set(`${name} of the running server`, bytes);
  return { stored, lines, answers, needles };
}

/** Everything stored while the server runs: files except the keys, and the tables of PostgreSQL. */
async function readStored(dataDir: string, databaseUrl: string | null): Promise<Map<string, Buffer>> {
  const stored = new Map<string, Buffer>();
  for (const name of readdirSync(dataDir, { recursive: true }).map(String)) {
    const path = join(dataDir, name);
    if (name.startsWith('keys') || !statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    stored.set(name, /\.(backup|tar\.gz)$/.test(name) ? gunzipSync(bytes) : bytes);
  }
  if (databaseUrl === null) return stored;
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const tables = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  for (const { tablename } of tables.rows) {
    const { rows } = await client.query(`SELECT row_to_json(t)::text AS row FROM "${tablename}" t`);
    stored.set(`table ${tablename}`, Buffer.from(rows.map(({ row }) => row).join('\n')));
  }
  await client.end();
  return stored;
}

interface Sent {
  token?: string;
  body?: object;
  machineId?: string;
}

const RUNS = ENGINES.flatMap((engine) =>
  (engine.name === 'sqlite' ? (['text', 'json'] as const) : (['json'] as const)).map((format) => ({
    name: engine.name,
    engine,
    format,
  })),
);

describe.each(RUNS)('no secret can be read ($name, log as $format)', ({ engine, format }) => {
  test('not in log, output, answers, events, files, tables or backup: raw, hex or base64', async () => {
    const { stored, lines, answers, needles } = await liveThroughADay(engine, format);
    for (const [what, secret] of needles) expect([what, secret.length > 15]).toEqual([what, true]);
    const names = [...stored.keys()];
    expect(names).toEqual(
      expect.arrayContaining([
        'day.backup',
        'day.tar.gz',
        'day.ndjson',
        'event-checkpoints.ndjson',
        'epoch.json',
      ]),
    );
    const database =
      engine.name === 'sqlite'
        ? ['tidegate.db', 'tidegate.db-wal of the running server']
        : ['table operators', 'table events'];
    expect(names).toEqual(expect.arrayContaining(database));
    expect(stored.get('day.backup')?.includes('olga')).toBe(true);

    // A JWT's secret part is its signature; a token's stored hash must not be readable either.
    const parts = [...needles].flatMap(([what, secret]) => {
      const part = secret.split('.').at(-1) ?? '';
      return part === secret || part.length < 16 ? [] : [[`part of ${what}`, part] as const];
    });
    const all = new Map([...needles, ...parts]);
    const hashes = new Map([...needles].map(([what, secret]) => [`hash of ${what}`, sha256(secret)]));
    const said = Buffer.from([...lines, ...answers].join('\n'));
    const found = secretsIn(said, new Map([...all, ...hashes])).map((what) => `${what} was said`);
    for (const [name, bytes] of stored) {
      found.push(...secretsIn(bytes, all).map((what) => `${what} is in ${name}`));
    }
    expect(found).toEqual([]);
    expect(said.includes('$argon2')).toBe(false);
  });
});

test('the process writes files for its own user only, and SIGTERM ends it with 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-process-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  const server = spawn(process.execPath, [MAIN], {
    env: {
      SERVICE_DATA_DIR: dataDir,
      SERVICE_PORT: '0',
      SERVICE_HOST: '127.0.0.1',
      SERVICE_ADVISORY_SOURCE: 'off',
      ...compiledModules(),
      ...NO_REGISTRIES_ENV,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  const ended = new Promise((resolve) => server.once('close', resolve));
  const [said, told] = [listen(server.stdout), listen(server.stderr)];
  await expect.poll(() => said.text).toMatch(/^\[INFO\] listening url=/m);
  expect(said.text).toMatch(/^\[INFO\] migrations applied \d+ /m);
  const names = ['', ...readdirSync(dataDir, { recursive: true }).map(String)];
  expect(names).toEqual(expect.arrayContaining(['jwt-secret', 'keys', 'tidegate.db']));
  for (const name of names) expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  // The link goes to the terminal of the starting user, not into the log; the streams are read one after the other.
  await expect.poll(() => told.text).toMatch(/\/setup\/[\w-]{22}/);
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
