import { request as httpRequest } from 'node:http';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';
import { openDatabase } from './db/open.ts';
import { createHttpServer } from './http/server.ts';
import { createLog } from './log.ts';
import { type SlowRequest, watchQueries, watchRequests, withoutValues } from './slow-log.ts';

const THRESHOLD_MS = 1_000;
const SECRET = 'a-value-that-is-a-secret';

/** A clock that goes on by `stepMs` each time it is read, and a log in memory. */
function scene(stepMs: number) {
  let nowMs = 0;
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'text', now: () => 0, write: (line) => lines.push(line) });
  const elapsedMs = () => {
    nowMs += stepMs;
    return nowMs;
  };
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { lines, advance, options: { thresholdMs: THRESHOLD_MS, log, elapsedMs } };
}

test.each([
  ["SELECT * FROM a WHERE b = 'x''y' AND c = 12.5", 'SELECT * FROM a WHERE b = ? AND c = ?'],
  ['SELECT  "sha256",\n $1 FROM t1 LIMIT 20', 'SELECT "sha256", $1 FROM t1 LIMIT ?'],
  ["SELECT 'never closed", 'SELECT ?'],
])('%j is written as %j', (text, expected) => {
  expect(withoutValues(text)).toBe(expected);
});

test('a long statement is cut', () => {
  expect(withoutValues(`SELECT ${'a, '.repeat(10_000)}`)).toHaveLength(501);
});

test('a storm writes ten lines a minute, and the next one says how many were left out', () => {
  const { lines, advance, options } = scene(0);
  const { tell } = watchQueries(options);
  const query = { sql: 'SELECT 1', tookMs: 2_000, waitedMs: 500, rows: 1 };
  for (let i = 0; i < 35; i++) tell(query);
  expect(lines).toHaveLength(10);
  expect(lines[0]).toMatch(
    /^\[WARN\] slow query duration_ms=2000 waited_ms=500 rows=1 statement="SELECT \?" time=/,
  );
  advance(60_000);
  tell(query);
  tell(query);
  expect(lines.slice(10).map((line) => /left_out=(\d+)/.exec(line)?.[1])).toEqual(['25', undefined]);
});

describe.each(ENGINES)('statements on $name', (engine) => {
  async function ask(stepMs: number) {
    const { lines, options } = scene(stepMs);
    const place = await engine.place();
    const database = openDatabase(place, { ...databaseOptions(), watch: watchQueries(options) });
    onTestFinished(() => database.close());
    await sql`SELECT ${SECRET} AS a, 'literal' AS b`.execute(database.read);
    await database
      .transact(async (tx) => void (await sql`SELECT ${SECRET} AS c`.execute(tx)))
      .catch(() => {});
    await database.prepareRead({ name: 'p', sqlite: 'SELECT ? AS d', postgres: 'SELECT $1::text AS d' })([
      SECRET,
    ]);
    await sql`SELECT nothing FROM nowhere`.execute(database.read).catch(() => {});
    return lines;
  }

  test('slow ones are logged without their values: reads, transactions, prepared and failed ones', async () => {
    const lines = await ask(THRESHOLD_MS);
    const statements = lines.map((line) => /statement=("[^"]*"|\S+)/.exec(line)?.[1]);
    const mark = engine.name === 'sqlite' ? '?' : '$1';
    for (const text of [
      `"SELECT ${mark} AS a, ? AS b"`,
      `"SELECT ${mark} AS c"`,
      '"SELECT nothing FROM nowhere"',
    ]) {
      expect(statements).toContain(text);
    }
    expect(statements.some((text) => text?.includes('AS d'))).toBe(true);
    expect(lines.join()).not.toContain(SECRET);
    expect(lines.join()).not.toContain('literal');
  });

  test('quick ones are not', async () => {
    expect(await ask(1)).toEqual([]);
  });
});

describe('requests', () => {
  async function serve(stepMs: number) {
    const told: SlowRequest[] = [];
    const { lines, options } = scene(stepMs);
    const watch = watchRequests(options);
    if (watch === null) throw new Error('nothing is measured');
    const app = createHttpServer({
      ...{ log: options.log, trustedProxies: [], tls: null },
      watch: {
        ...watch,
        tell: (slow) => {
          told.push(slow);
          watch.tell(slow);
        },
      },
      guards: {
        public: async () => {},
        anyone: async () => null,
        own: { judge: () => {}, countRefusal: () => {} },
        operator: async () => expect.unreachable(),
        agent: async () => expect.unreachable(),
      },
    });
    const schema = { summary: 'S', tags: ['t'], response: { 200: Type.Any() } };
    const access = { limit: null };
    app.routes.public({
      ...{ method: 'GET', url: '/things/:id', access, schema },
      handler: async () => ({}),
    });
    app.routes.public({
      ...{ method: 'GET', url: '/stream', access, schema },
      handler: async ({ reply }) => reply.header('content-type', 'text/event-stream').send('x'),
    });
    onTestFinished(() => app.close());
    const base = await app.listen({ port: 0, host: '127.0.0.1' });
    const get = (path: string) =>
      new Promise<void>((resolve, reject) => {
        httpRequest(`${base}${path}`, { agent: false }, (answer) => answer.resume().on('end', resolve))
          .on('error', reject)
          .end();
      });
    return { get, told, lines };
  }

  test('slow ones are logged by the pattern of their route, never by their URL', async () => {
    const { get, told, lines } = await serve(THRESHOLD_MS);
    await get(`/things/${SECRET}`);
    await get(`/nowhere/${SECRET}`);
    await get('/stream');
    await expect.poll(() => told.length).toBe(2);
    expect(told).toMatchObject([
      { method: 'GET', route: '/things/:id', status: 200, isComplete: true },
      { method: 'GET', route: 'no route', status: 404 },
    ]);
    expect(lines[0]).toMatch(/^\[WARN\] slow request method=GET route=\/things\/:id status=200 duration_ms=/);
    expect(lines.join()).not.toContain(SECRET);
  });

  test('quick ones are not', async () => {
    const { get, told } = await serve(1);
    await get('/things/1');
    await get('/things/2');
    expect(told).toEqual([]);
  });
});
