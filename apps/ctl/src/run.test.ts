import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { run } from './run.ts';

const ID = '01900000-0000-7000-8000-000000000001';
const OTHER = '01900000-0000-7000-8000-000000000002';
const TIME = '2026-12-01T00:00:00Z';

/** Runs a command in this process. `server` null: none is given. */
async function ctl(args: readonly string[], { server = 'http://127.0.0.1:9', env = {}, stdin = '' } = {}) {
  const said = { out: '', err: '' };
  const code = await run(args, {
    env: { TIDEGATE_SERVER: server, ...env },
    now: () => Date.parse('2026-11-21T12:00:00Z'),
    columns: null,
    out: (text) => {
      said.out += `${text}\n`;
    },
    write: async (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += `${text}\n`;
    },
    stdin: (async function* () {
      yield stdin;
    })(),
  });
  return { code, ...said };
}

type Reply = { status?: number; body: unknown; type?: string };

/** A server that gives one answer after another, and keeps what it was asked. */
async function answering(...replies: Reply[]) {
  const asked: { method: string; url: string; body: unknown; token: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    asked.push(await seen(request));
    const reply = replies[Math.min(asked.length, replies.length) - 1] ?? expect.unreachable();
    const { status = 200, body } = reply;
    const type = reply.type ?? (status >= 400 ? 'application/problem+json' : 'application/json');
    response.writeHead(status, { 'content-type': type, connection: 'close' });
    if (status === 204) response.end();
    else response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : null;
  return { server: `http://127.0.0.1:${port}`, asked };
}

async function seen(request: IncomingMessage) {
  const { method = '', url = '', headers } = request;
  const body: unknown =
    headers['content-length'] || headers['transfer-encoding'] ? await json(request) : undefined;
  return { method, url, body, token: headers.authorization };
}

const page = (items: unknown[], next_cursor: string | null = null) => ({
  body: { items, next_cursor, total: 3 },
});
const host = (id: string, hostname: string) => ({ id, hostname });

test.each<[string[], string]>([
  [['hosts', 'scann', 'x'], 'hosts needs one of: list, show, '],
  [['hostss'], 'unknown command "hostss"; allowed: overview, hosts, '],
  [
    ['hosts', 'scan'],
    'scan takes HOST, not nothing\n"tidegatectl hosts scan --help" shows how it is used.\n',
  ],
  [['hosts', 'scan', ID, OTHER], `scan takes HOST, not ${ID} ${OTHER}\n`],
  [
    ['hosts', 'scan', ID, '--ecosystem', 'rpm'],
    '--ecosystem is "rpm"; allowed: npm, pypi, apt, dnf, tidegate\n',
  ],
  [['updates', 'list', '--state', 'gone'], '--state is "gone"; allowed: pending, awaiting_plan, '],
  [['updates', 'list', '--limit', '0'], '--limit must be a whole number, 1 to 10000\n'],
  [['updates', 'list', '--limit', '1', '--all'], 'give --limit or --all, not both\n'],
  [['updates', 'list', '--wrong'], "Unknown option '--wrong'"],
  [['updates', 'show', 'x'], 'ID is not of its form: UUID, lower case\n'],
  [['tokens', 'add'], '--label is needed\n'],
  [['tokens', 'add', '--label', 'x', '--seats', '0'], '--seats must be >= 1\n'],
  [['tokens', 'add', '--label', 'x', '--seats', 'many'], '--seats must be a whole number, 1 to 100000\n'],
  [
    ['tokens', 'add', '--label', 'x', '--tag', 'PROD'],
    '--tag is not of its form: key=value, such as env=prod',
  ],
  [['holds', 'place', 'demo', '--reason', 'x'], '--until is needed\n'],
  [['policies', 'publish'], '--file FILE is needed\n'],
  [['policies', 'publish', '--file', '/nowhere'], 'ENOENT'],
  [['policies', 'publish', '--file', '-'], '- is no JSON: '],
  [['login'], 'login needs --token-file FILE, or TIDEGATE_TOKEN_FILE\n'],
  [['completion', 'tcsh'], 'completion needs one of: bash, zsh, fish\n'],
  [
    ['--server', 'tidegate', 'health'],
    '--server is "tidegate"; allowed: a URL such as https://tidegate.example\n',
  ],
  [['--server=http://192.0.2.1', 'health'], 'http://192.0.2.1 would carry the token in the open; '],
  [
    ['--server', 'https://a:b@192.0.2.1', 'health'],
    '--server has a user name, a password, a query or a fragment; ',
  ],
])('%j is wrong usage, said in one sentence', async (args, err) => {
  const said = await ctl(args);
  expect([said.code, said.out]).toEqual([2, '']);
  expect(said.err).toContain(err);
});

test('without a server it asks which', async () => {
  expect(await ctl(['health'], { server: '' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('which server? give --server URL, or set TIDEGATE_SERVER'),
  });
});

test('words become the request: operands, options, fixed members, defaults, and hosts by their names', async () => {
  const { server, asked } = await answering(page([host(ID, 'web-1'), host(OTHER, 'web-10')]), {
    status: 201,
    body: {
      ...{ id: ID, packages: ['demo'], scope: { kind: 'all' }, ends_at: TIME, state: 'in_force' },
      ...HOLD,
    },
  });
  const words = [
    'holds',
    'place',
    'demo',
    'lib*',
    '--ecosystem',
    'apt',
    '--reason',
    'a fair',
    '--until',
    TIME,
  ];
  const said = await ctl([...words, '--host', 'web-1', '--host', OTHER, '--tag', 'env=prod'], { server });
  expect(said).toMatchObject({ code: 0, err: '' });
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /api/v1/agents?limit=200&q=web-1',
    'POST /api/v1/holds',
  ]);
  expect(asked[1]?.body).toEqual({
    ...{ packages: ['demo', 'lib*'], ecosystems: ['apt'], reason: 'a fair', ends_at: TIME },
    scope: { kind: 'some', groups: [], hosts: [ID, OTHER], tags: ['env=prod'] },
  });
  const limit = await answering({ status: 204, body: null });
  expect(
    await ctl(['reboots', 'limit', '--at-once', '2', '--healthy', '0', '--halt-after', '1'], limit),
  ).toMatchObject({
    ...{ code: 0, out: 'The limit is set.\n' },
  });
  expect(limit.asked[0]?.body).toEqual({ group: null, max_at_once: 2, min_healthy: 0, halt_after: 1 });
  const calendar = await answering({ body: { ...AGENDA, entries: [] } });
  await ctl(['windows', 'list', '--days', '7'], calendar);
  expect(calendar.asked[0]?.url).toBe('/api/v1/calendar?from=2026-11-21&days=7&zone=UTC');
  const times = await answering({ status: 201, body: BLACKOUT });
  await ctl(['windows', 'freeze', 'Fair', '--from', TIME, '--until', TIME, '--reason', 'x'], times);
  expect(times.asked[0]?.body).toMatchObject({ times: { kind: 'once', starts_at: TIME, ends_at: TIME } });
});

const HOLD = {
  ecosystems: ['apt'],
  reason: 'x',
  created_by: 'x',
  created_at: TIME,
  ended_by: null,
  ended_at: null,
  held: null,
};
const AGENDA = { as_of: TIME, zone: 'UTC', days: [], truncated: false, always: [], ran: [], ran_until: null };
const BLACKOUT = {
  ...{
    id: ID,
    name: 'Fair',
    reason: 'x',
    scope: { kind: 'all' },
    times: {},
    state: 'active',
    active: null,
    next: [],
  },
  ...{ created_by: 'x', created_at: TIME, ended_by: null, ended_at: null, end_reason: null },
};

test('a name that several hosts have is refused, with their ids', async () => {
  const { server, asked } = await answering(page([host(ID, 'web'), host(OTHER, 'web')]));
  const said = await ctl(['hosts', 'revoke', 'web'], { server });
  expect(said).toEqual({ code: 1, out: '', err: `2 are named "web"; give the id: ${ID}, ${OTHER}\n` });
  expect(asked).toHaveLength(1);
});

test('--json is the answer of the server; a list says what it left out, and its cursor goes on', async () => {
  const operators = [1, 2].map((i) => ({
    ...{ id: ID, username: `ada${i}`, role: 'admin', disabled: false, second_factors: [], created_at: TIME },
  }));
  const { server, asked } = await answering(page(operators, 'next one'));
  const shown = await ctl(['operators', 'list', '--limit', '2'], { server });
  expect(shown.out).toBe(`NAME  ROLE   STATE   SECOND FACTOR  CREATED
ada1  admin  active  none           2026-12-01 00:00Z
ada2  admin  active  none           2026-12-01 00:00Z
`);
  expect(shown.err).toBe('These are 2 of 3; --all shows more.\n');
  const said = await ctl(['operators', 'list', '--limit', '2', '--cursor', 'x', '--json'], { server });
  expect(JSON.parse(said.out)).toEqual(page(operators, 'next one').body);
  expect(asked[1]?.url).toBe('/api/v1/admin/operators?limit=2&cursor=x');
});

test('what a host sends cannot move the cursor of the terminal', async () => {
  const command = {
    ...{ id: ID, hostname: 'web\u001b[2J\u202e', status: 'failed', action: 'scan' },
    output_tail: 'a\n\u009bb',
  };
  const { server } = await answering({ body: { ...COMMAND, ...command } });
  const { out } = await ctl(['commands', 'show', ID], { server });
  expect(out).toContain('hostname: web\\u{1b}[2J\\u{202e}\n');
  expect(out).toContain('output tail:\n  a\n  \\u{9b}b\n');
});

const COMMAND = {
  ...{
    agent_id: ID,
    params: {},
    update_ids: [],
    packages: { total: 0, first: [] },
    seq: 1,
    created_by: 'x',
    created_at: TIME,
    not_before: TIME,
  },
  ...{
    expires_at: TIME,
    sent_at: null,
    received_at: null,
    started_at: null,
    installing_at: null,
    finished_at: null,
    reason: null,
  },
  ...{ exit_code: null, way_back: null, restarts: null, probes: null, hooks: null },
};

test('a refusal is its detail, the faults of its members and a hint; --json prints the problem', async () => {
  const problem = {
    status: 401,
    code: 'access_token_expired',
    detail: 'The token has expired.',
    request_id: 'r',
  };
  const { server } = await answering({ status: 401, body: problem });
  using folder = tmpDir('tidegate-ctl-');
  const tokenFile = join(folder.path, 'token');
  writeFileSync(tokenFile, 'tg_secret\n');
  chmodSync(tokenFile, 0o644);
  const env = { TIDEGATE_TOKEN_FILE: tokenFile };
  const said = await ctl(['hosts', 'list', '--json'], { server, env });
  expect(said.code).toBe(1);
  expect(JSON.parse(said.out)).toEqual(problem);
  const lines = said.err.split('\n');
  expect(lines[0]).toBe(`Others may read ${tokenFile}: chmod 600 keeps the token yours.`);
  expect(lines[1]).toBe('The token has expired.');
  expect(lines[2]).toContain(`The token is that of ${tokenFile}.`);
  expect(said.err + said.out).not.toContain('tg_secret');
});

test('a secret is a line of the standard input, and never an option', async () => {
  const { server, asked } = await answering({ status: 204, body: null });
  const said = await ctl(['account', 'set-password'], { server, stdin: 'the old one\nthe new one\n' });
  expect(said).toMatchObject({ code: 0, err: '' });
  expect(asked[0]?.body).toEqual({ current_password: 'the old one', new_password: 'the new one' });
  expect(await ctl(['account', 'set-password', '--new-password', 'x'])).toMatchObject({ code: 2 });
  expect(await ctl(['account', 'set-password'], { stdin: 'only one\n' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('the standard input has no line with the new password'),
  });
});

test('login asks for the code where there is one, and step-up proves it again', async () => {
  using folder = tmpDir('tidegate-ctl-');
  const tokenFile = join(folder.path, 'token');
  const needsCode = {
    status: 401,
    code: 'second_factor_required',
    detail: 'A code is needed.',
    request_id: 'r',
  };
  const operator = { id: ID, username: 'ada', role: 'admin', groups: null };
  const { server, asked } = await answering(
    { status: 401, body: needsCode },
    { body: { token: 'the-session', expires_at: TIME, operator } },
    { body: { ...SESSION, operator, factors: { totp: true, passkeys: 0, recovery_codes_left: 9 } } },
    { body: { stepped_up_until: TIME } },
  );
  const env = { TIDEGATE_TOKEN_FILE: tokenFile };
  const said = await ctl(['login', 'ada'], { server, env, stdin: 'a password\n123456\n' });
  expect(said).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Logged in as ada \(admin\) until 2026-12-01 00:00Z/),
  });
  expect(asked.map(({ body }) => body)).toEqual([
    { username: 'ada', password: 'a password' },
    { username: 'ada', password: 'a password', totp: '123456' },
  ]);
  expect([readFileSync(tokenFile, 'utf8'), statSync(tokenFile).mode & 0o777]).toEqual([
    'the-session\n',
    0o600,
  ]);
  const proven = await ctl(['step-up'], { server, env, stdin: 'abcd-efgh\n' });
  expect(proven).toEqual({ code: 0, out: 'Proven until 2026-12-01 00:00Z.\n', err: '' });
  expect(asked[3]).toMatchObject({ body: { recovery_code: 'abcd-efgh' }, token: 'Bearer the-session' });
});

const SESSION = {
  expires_at: TIME,
  unread_notices: 0,
  second_factor_due_at: null,
  stepped_up_until: null,
  method: null,
  needs_factor: false,
};

test('login does not write over an API token, and a wrong proxy is no way around', async () => {
  using folder = tmpDir('tidegate-ctl-');
  const tokenFile = join(folder.path, 'token');
  writeFileSync(tokenFile, 'tg_secret\n', { mode: 0o600 });
  expect(await ctl(['login', 'ada', '--token-file', tokenFile])).toMatchObject({
    code: 1,
    err: expect.stringContaining('holds an API token'),
  });
  const env = { HTTPS_PROXY: 'socks5://127.0.0.1:9' };
  expect(await ctl(['health'], { server: 'https://192.0.2.1', env })).toEqual({
    ...{ code: 1, out: '', err: 'HTTPS_PROXY names no http:// or https:// proxy\n' },
  });
});

test('the way goes through HTTPS_PROXY, and --ca-file says whom to trust at its end', async () => {
  const pair = await createSelfSigned(['tidegate.example']);
  const items = JSON.stringify(page([]).body);
  const server = await listenWithTls(pair, (_, answer) =>
    answer.writeHead(200, { 'content-type': 'application/json' }).end(items),
  );
  onTestFinished(server.stop);
  const proxy = await startConnectProxy({
    hosts: { 'tidegate.example': server.port },
    credentials: 'ada:secret',
  });
  onTestFinished(proxy.stop);
  using folder = tmpDir('tidegate-ctl-');
  const caFile = join(folder.path, 'ca.pem');
  writeFileSync(caFile, pair.cert);
  const asked = {
    server: 'https://tidegate.example',
    env: { HTTPS_PROXY: `http://ada:secret@${proxy.authority}` },
  };
  const said = await ctl(['hosts', 'list', '--ca-file', caFile], asked);
  expect(said).toMatchObject({ code: 0, out: expect.stringMatching(/^HOST +STATUS/), err: '' });
  expect(proxy.seen).toMatchObject([{ method: 'CONNECT', target: 'tidegate.example:443' }]);
  const untrusted = await ctl(['hosts', 'list'], asked);
  expect(untrusted).toMatchObject({
    code: 1,
    err: expect.stringMatching(/cannot be reached: .*certificate/),
  });
  const env = { HTTPS_PROXY: `http://ada:wrong@${proxy.authority}` };
  const refused = await ctl(['hosts', 'list', '--ca-file', caFile], { ...asked, env });
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('cannot be reached')]);
  expect(refused.err).not.toContain('wrong');
});

test('--csv prints the file of the server as it is, and --limit asks for one page', async () => {
  const { server, asked } = await answering({ body: 'id,name\r\n1,a\r\n', type: 'text/csv; charset=utf-8' });
  const said = await ctl(['hosts', 'list', '--csv', '--group', 'web', '--limit', '5'], { server });
  expect(said).toEqual({ code: 0, out: 'id,name\r\n1,a\r\n', err: '' });
  expect(asked[0]?.url).toBe('/api/v1/agents?group=web&limit=5');
});

test.each(['--json', '--all'])('--csv goes without %s', async (option) => {
  const said = await ctl(['hosts', 'list', '--csv', option]);
  expect([said.code, said.err]).toEqual([2, expect.stringContaining('--csv has every row: give it without')]);
});
