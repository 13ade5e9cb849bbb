import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { LIMIT_CLASSES } from './platform/http/access.ts';
import { ENGINES } from './testing/engines.ts';
import { insertHostRows } from './testing/foreign-hosts.ts';
import { createTestApp } from './testing/test-app.ts';

/** What the paths name. Lists of other things are empty here, or 404 in both forms. */
const NOBODY = '01900000-0000-7000-8000-00000000beef';
const QUERY = '?distribution=Debian:12&package=openssl&vulnerability=CVE-1';

const Media = Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() }));
const Document = Type.Object({
  paths: Type.Record(
    Type.String(),
    Type.Object({
      get: Type.Optional(
        Type.Object({
          responses: Type.Record(Type.String(), Type.Object({ content: Type.Optional(Media) })),
        }),
      ),
    }),
  ),
});
const Described = Type.Object({ description: Type.String() });
const IsList = Type.Object({ properties: Type.Object({ items: Type.Unknown() }) });
const Listed = Type.Object({ items: Type.Array(Type.Unknown()) });
/** What the login page shows to anybody: CSV is for operators. */
const OPEN_TO_ANYONE = new Set(['/api/v1/auth/providers']);
const [engine] = ENGINES;

test('every list is CSV as well, with the columns of the document and the rows of the JSON', async () => {
  if (!engine) throw new Error('SQLite is always there');
  const app = await createTestApp(engine);
  app.platform.clock.advance(61_000);
  const token = await app.adminToken();
  const headers = { authorization: `Bearer ${token}` };
  const wide = Object.fromEntries(LIMIT_CLASSES.map((name) => [name, { requests: 100_000 }]));
  const url = '/api/v1/admin/rate-limits';
  expect(
    (await app.http.inject({ method: 'PUT', url, headers, payload: { classes: wide } })).statusCode,
  ).toBe(200);
  const { agentId, updateId } = await insertHostRows(app.platform, { n: 1, group: null });

  const document = Value.Parse(Document, JSON.parse((await app.http.inject('/api/openapi.json')).body));
  const lists = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const content = get?.responses[200]?.content ?? {};
    const isList = Value.Check(IsList, content['application/json']?.schema);
    return isList && !OPEN_TO_ANYONE.has(path) ? [{ path, csv: content['text/csv']?.schema }] : [];
  });
  expect(lists.filter(({ csv }) => csv === undefined)).toEqual([]);
  const counts = new Map<string, number>();
  for (const { path, csv } of lists) {
    const named = path
      .replace('agents/{agent_id}', `agents/${agentId}`)
      .replace('updates/{id}', `updates/${updateId}`)
      .replace(/\{\w+\}/g, NOBODY);
    const asked = path === '/api/v1/unfixed/hosts' ? `${named}${QUERY}` : named;
    const json = await app.http.inject({ url: asked, headers });
    const answer = await app.http.inject({ url: asked, headers: { ...headers, accept: 'text/csv' } });
    expect([path, answer.statusCode]).toEqual([path, json.statusCode]);
    if (json.statusCode !== 200) continue;
    const { items } = Value.Parse(Listed, json.json());
    const [head = '', ...rows] = answer.body.split('\r\n');
    const columns = head.split(',').map((name) => `\`${name}\``);
    const { description } = Value.Parse(Described, csv);
    expect([path, description]).toEqual([path, expect.stringContaining(`Columns: ${columns.join(', ')}`)]);
    expect([path, rows.length]).toEqual([path, items.length + 1]);
    counts.set(path, items.length);
  }
  const filled = [
    'agents',
    'updates',
    'updates/by-host',
    'packages',
    'commands',
    'events',
    'admin/operators',
  ];
  expect(filled.filter((name) => !((counts.get(`/api/v1/${name}`) ?? 0) > 0))).toEqual([]);
});
