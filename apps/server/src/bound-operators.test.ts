import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { LIMIT_CLASSES } from './platform/http/access.ts';
import { ENGINES, SAMPLED_ENGINES, type TestEngine } from './testing/engines.ts';
import { type HostRows, insertHostRows } from './testing/foreign-hosts.ts';
import { changeInstalled } from './testing/installed-rows.ts';
import { routesOf } from './testing/routes-of.ts';
import { createTestApp } from './testing/test-app.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface Answer {
  status: number;
  text: string;
}

const NOBODY = '01900000-0000-7000-8000-00000000beef';
const PASSWORD = 'a long enough password';
/** `security` scheme of operators' routes in the document. */
const OPERATOR = 'operatorToken';
/** Served under /api without being in the document: a page without host data. */
const DOCS = 'GET /api/docs';
/** Routes whose rows are the caller's own. */
const OWN = ['/api/v1/auth/', '/api/v1/bulk/'];
/** Endless answers, which have their own tests. */
const STREAMS = ['GET /api/v1/stream'];

/** The row of a host that a parameter names, by the preceding path segment. Every other kind is refused: 403. */
const NAMED: Readonly<Record<string, keyof HostRows>> = {
  agents: 'agentId',
  updates: 'updateId',
  commands: 'commandId',
  events: 'eventId',
  decisions: 'decisionId',
  'registration-tokens': 'registrationTokenId',
};

/** Answers that are of one thing, which the query names. */
const QUERIES: Readonly<Record<string, string>> = {
  '/api/v1/sbom': '?group=theirs',
  '/api/v1/vex': '?group=theirs',
  '/api/v1/agents/:agent_id/inventory/at': '?at=2026-01-01T00:00:00Z',
  '/api/v1/agents/:agent_id/inventory/difference': '?from=2026-01-01T00:00:00Z',
  '/api/v1/unfixed/hosts': '?distribution=Debian:12&package=openssl&vulnerability=CVE-1',
};

/** Routes with ids in their body, and their answer for a host that does not exist. */
const BODIES: Readonly<
  Record<string, (rows: HostRows) => { body: object; status: number; answer?: object }>
> = {
  'POST /api/v1/updates/approve': ({ updateId }) => ({
    body: { update_ids: [updateId] },
    status: 200,
    answer: {
      approved: [],
      awaiting_plan: [],
      blocked: [],
      skipped: [{ update_id: updateId, code: 'not_found' }],
    },
  }),
  'POST /api/v1/updates/rollback': ({ updateId }) => ({
    body: { update_ids: [updateId], reason: 'test' },
    status: 200,
    answer: { requested: [], skipped: [{ update_id: updateId, code: 'not_found' }] },
  }),
  'POST /api/v1/updates/preview': ({ updateId }) => ({
    body: { update_ids: [updateId] },
    status: 200,
    answer: {
      ...{ updates: 0, hosts: 0, transactions: 0, unplanned: 0 },
      ...{ left_out: [{ update_id: updateId, code: 'not_found' }], left_out_count: 1, sets: [] },
    },
  }),
  'POST /api/v1/agents/group': ({ agentId }) => ({
    body: { agent_ids: [agentId], group: 'ours' },
    status: 200,
    answer: { moved: [], not_found: [agentId] },
  }),
  'POST /api/v1/agents/tags': ({ agentId }) => ({
    body: { agent_ids: [agentId], set: ['env=prod'], remove: [] },
    status: 200,
    answer: { changed: [], not_found: [agentId] },
  }),
  // A view is the caller's own filter: this body is invalid whatever hosts there are.
  'POST /api/v1/views': () => ({ body: {}, status: 400 }),
  'POST /api/v1/admin/registration-tokens': () => ({
    body: { label: 'x', group: 'theirs' },
    status: 403,
  }),
};

const Document = Type.Object({
  paths: Type.Record(
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Object({
        security: Type.Array(Type.Record(Type.String(), Type.Unknown())),
        parameters: Type.Optional(
          Type.Array(
            Type.Object({
              name: Type.String(),
              in: Type.String(),
              schema: Type.Object({ enum: Type.Optional(Type.Array(Type.Unknown())) }),
            }),
          ),
        ),
      }),
    ),
  ),
});

/** What is of the other host, and what matches anything. */
const WORDS = [
  ...['theirs', 'host-1', 'package-1', 'evil-package', '1.0-1', 'agent_offline', '2000-01-01T00:00:00Z'],
  ...['01900000-0000-7000-8000-000000000001', 'true'],
];
/** Of every list: how much of it, not what. */
const PAGED: ReadonlySet<string> = new Set(['limit', 'cursor']);

describe.each(ENGINES)('an admin who is bound to a group, on $name', (engine) => {
  test('sees nothing of other hosts on any operators’ route, and changes nothing of them', async () => {
    const { app, send, routes } = await open(engine);
    const operators = routes.filter(
      ({ isOperators, method, pattern }) =>
        isOperators &&
        !OWN.some((prefix) => pattern.startsWith(prefix)) &&
        !STREAMS.includes(`${method} ${pattern}`),
    );
    // Compare with the mounted routes: a route missing from the document would be skipped.
    const documented = routes.map(({ method, pattern }) => `${method} ${pattern}`);
    const served = routesOf(app.http.printRoutes({ commonPrefix: false }));
    expect([...documented, DOCS].filter(isOfApi).sort()).toEqual(served.filter(isOfApi));
    const lists = operators.filter(({ method, pattern }) => method === 'GET' && !pattern.includes(':'));
    const before = new Map<string, Answer>();
    for (const { pattern } of lists)
      before.set(pattern, await send('GET', `${pattern}${QUERIES[pattern] ?? ''}`));
    const foreign = [
      await insertHostRows(app.platform, { n: 1, group: 'theirs' }),
      await insertHostRows(app.platform, { n: 2, group: null }),
    ];
    const untouched = await rowsOf(app);

    const wrong: string[] = [];
    for (const rows of foreign) {
      for (const { method, pattern } of operators) {
        const route = `${method} ${pattern}`;
        const asked = BODIES[route]?.(rows);
        const answer = await send(method, urlOf(pattern, rows), asked?.body ?? {});
        const fault = faultOf({ answer, asked, before: method === 'GET' ? before.get(pattern) : undefined });
        if (fault !== null) wrong.push(`${route}: ${fault}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(await rowsOf(app)).toEqual(untouched);
  });

  test('sees the hosts of its group, and what belongs to them', async () => {
    const { app, send } = await open(engine);
    await insertHostRows(app.platform, { n: 1, group: 'theirs' });
    const { agentId, updateId, commandId, eventId } = await insertHostRows(app.platform, {
      n: 3,
      group: 'ours',
    });
    for (const url of [
      `/api/v1/agents/${agentId}`,
      `/api/v1/agents/${agentId}/inventory`,
      `/api/v1/agents/${agentId}/inventory/changes`,
      `/api/v1/updates/${updateId}`,
      `/api/v1/commands/${commandId}`,
      `/api/v1/events/${eventId}`,
      `/api/v1/updates/${updateId}/decisions`,
    ]) {
      expect([url, (await send('GET', url)).status]).toEqual([url, 200]);
    }
    for (const list of ['agents', 'updates', 'packages', 'commands', 'events']) {
      const answer = await send('GET', `/api/v1/${list}`);
      expect([list, JSON.parse(answer.text).total]).toEqual([list, 1]);
    }
    expect((await send('POST', `/api/v1/agents/${agentId}/scan`)).status).toBe(202);
  });
});

describe.each(SAMPLED_ENGINES)('filters of an admin who is bound to a group, on $name', (engine) => {
  test('tell nothing of other hosts, nor does the order of a list', async () => {
    const { app, send, call, admin, routes } = await open(engine);
    const asked = routes
      .filter(({ isOperators, method, pattern }) => isOperators && method === 'GET' && !pattern.includes(':'))
      .filter(({ pattern }) => ![...OWN, '/api/v1/stream'].some((prefix) => pattern.startsWith(prefix)))
      .flatMap(({ pattern, parameters }) =>
        parameters.flatMap(({ name, values }) =>
          values.map((value) => {
            // A version says something only with a package.
            const more = name === 'below' ? '&package=evil-package' : '';
            return `${pattern}?${name}=${encodeURIComponent(value)}${more}`;
          }),
        ),
      );
    const asAdmin = (url: string) => call('GET', url, { token: admin });
    const asBound = (url: string) => send('GET', url);
    const answersTo = async (urls: readonly string[], ask: typeof asBound) => {
      const answers = new Map<string, string>();
      for (const url of urls) {
        const { status, text } = await ask(url);
        if (status === 200) answers.set(url, text);
      }
      return answers;
    };
    const before = await answersTo(asked, asBound);
    const urls = [...before.keys()];
    const whole = await answersTo(urls, asAdmin);
    const { agentId } = await insertHostRows(app.platform, { n: 1, group: 'theirs' });
    await app.platform.database.transact(async (tx) => {
      const evil = { name: 'evil-package', version: '1.0-1', arch: 'amd64', held: 0, origin: null };
      const put = [{ ...evil, source_name: null, source_version: null }];
      await changeInstalled(tx, { agentId, ecosystem: 'apt', nowMs: app.platform.now() }, { put });
    });
    expect(await answersTo(urls, asBound)).toEqual(before);
    // The same questions tell an admin of the whole fleet of this host.
    const told = [...(await answersTo(urls, asAdmin))].filter(([url, text]) => text !== whole.get(url));
    expect(new Set(told.map(([url]) => url.split('?')[0])).size).toBeGreaterThan(4);
    expect(told.length).toBeGreaterThan(50);
  });
});

async function open(engine: TestEngine) {
  const app = await createTestApp(engine);
  app.platform.clock.advance(61_000);
  const admin = await app.adminToken();
  async function call(method: Method, url: string, { token, body }: { token: string; body?: object }) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.http.inject({ method, url, headers, ...(body ? { payload: body } : {}) });
    return { status: answer.statusCode, text: answer.body };
  }
  const wide = Object.fromEntries(LIMIT_CLASSES.map((name) => [name, { requests: 100_000 }]));
  await call('PUT', '/api/v1/admin/rate-limits', { token: admin, body: { classes: wide } });
  const bound = { username: 'bound', password: PASSWORD, role: 'admin', groups: ['ours'] };
  const made = await call('POST', '/api/v1/admin/operators', { token: admin, body: bound });
  expect(made.status).toBe(201);
  const login = { method: 'POST', url: '/api/v1/auth/login' } as const;
  const token: string = (
    await app.http.inject({ ...login, payload: { username: 'bound', password: PASSWORD } })
  ).json().token;
  const document = Value.Parse(Document, JSON.parse((await app.http.inject('/api/openapi.json')).body));
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security, parameters = [] }]) => ({
      method: methodOf(method),
      pattern: path.replace(/\{(\w+)\}/g, ':$1'),
      isOperators: security.some((scheme) => OPERATOR in scheme),
      parameters: parameters
        .filter((one) => one.in === 'query' && !PAGED.has(one.name))
        .map(({ name, schema }) => ({ name, values: schema.enum?.map(String) ?? WORDS })),
    })),
  );
  const send = (method: Method, url: string, body?: object) =>
    call(method, url, { token, ...(method === 'GET' || !body ? {} : { body }) });
  return { app, send, call, admin, routes };
}

function isOfApi(route: string): boolean {
  return route.includes(' /api/');
}

function methodOf(name: string): Method {
  const method = (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).find(
    (one) => one === name.toUpperCase(),
  );
  if (!method) throw new Error(`unknown method: ${name}`);
  return method;
}

function urlOf(pattern: string, rows: HostRows): string {
  const parts = pattern.split('/');
  const named = parts
    .map((part, i) => {
      if (!part.startsWith(':')) return part;
      const kind = NAMED[parts[i - 1] ?? ''];
      return kind === undefined ? NOBODY : rows[kind];
    })
    .join('/');
  return `${named}${QUERIES[pattern] ?? ''}`;
}

/** Null when the answer reveals nothing about the host: refused, not found, or unchanged by the host's existence. */
function faultOf({
  answer,
  asked,
  before,
}: {
  answer: Answer;
  asked: { status: number; answer?: object } | undefined;
  before: Answer | undefined;
}): string | null {
  const shown = `${answer.status} ${answer.text.slice(0, 200)}`;
  if (asked) {
    const isRight =
      answer.status === asked.status &&
      (asked.answer === undefined || answer.text === JSON.stringify(asked.answer));
    return isRight ? null : `${shown}, and not what is said of a host that is not there`;
  }
  if (answer.status === 403 || answer.status === 404) return null;
  if (before === undefined) return `${shown}, and neither 403 nor 404`;
  if (answer.status !== before.status || answer.text !== before.text) {
    return `${shown}, which was ${before.status} ${before.text.slice(0, 200)} without the host`;
  }
  return null;
}

/** The state of the hosts that an operator could have changed. */
async function rowsOf({ platform }: Awaited<ReturnType<typeof createTestApp>>) {
  const { read } = platform.database;
  return {
    agents: await read.selectFrom('agents').selectAll().orderBy('id').execute(),
    updates: await read.selectFrom('updates').selectAll().orderBy('id').execute(),
    commands: await read.selectFrom('agent_commands').selectAll().orderBy('id').execute(),
  };
}
