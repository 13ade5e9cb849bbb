import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createSliceApp } from '../../testing/slice-app.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import { FILES_PER_OPERATOR } from './answer-file.ts';
import { CSV_ROWS_MAX } from './csv-rules.ts';
import { askedPage, cutPage, PAGE_MAX, PageQuery, pageOf } from './lists.ts';
import { noSuch } from './refusal.ts';

const [engine] = ENGINES;
if (!engine) throw new Error('SQLite is always there');
const openDatabase = () => engine.open();

/** A list of numbers below `count`. */
async function openList(count: number, { failsAt = Number.POSITIVE_INFINITY } = {}) {
  const app = createSliceApp(createTestPlatform(await openDatabase()));
  onTestFinished(() => app.close());
  const pages: number[] = [];
  app.routes.operator({
    ...{ method: 'GET', url: '/api/v1/numbers' },
    access: { role: 'viewer', limit: 'admin_reads', reach: 'none' },
    schema: {
      ...{ summary: 'Numbers', tags: ['test'] },
      querystring: strict({ ...PageQuery, from: Type.Optional(Type.String({ pattern: '^[0-9]+$' })) }),
      response: { 200: pageOf(Type.Object({ n: Type.Integer(), text: Type.String() })) },
      refuses: ['not_found'],
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const start = after === null ? Number(query.from ?? 0) : Number(after) + 1;
      if (start >= failsAt) throw noSuch('number');
      pages.push(start);
      const rows = Array.from({ length: Math.max(0, Math.min(limit + 1, count - start)) }, (_, i) => ({
        ...{ n: start + i, text: '=1' },
      }));
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ n }) => n });
      return { items: page, next_cursor, total: count };
    },
  });
  const get = (query = '', accept = 'text/csv') =>
    app.inject({ url: `/api/v1/numbers${query}`, headers: { accept } });
  const linesOf = async (query = '') => (await get(query)).body.split('\r\n');
  return { app, pages, get, linesOf };
}

describe('a list as CSV', () => {
  test('has every row of every page, under the headers of a download', async () => {
    const { get } = await openList(PAGE_MAX + 3);
    const { statusCode, headers, body } = await get();
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="numbers.csv"',
      vary: 'accept',
    });
    const numbers = Array.from({ length: PAGE_MAX + 3 }, (_, n) => `${n},'=1\r\n`);
    expect(body).toBe(`n,text\r\n${numbers.join('')}`);
  });

  test('is JSON for clients that do not ask, which caches are told', async () => {
    const { get } = await openList(1);
    const { headers, body } = await get('', '*/*');
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      vary: 'accept',
    });
    expect(JSON.parse(body).items).toEqual([{ n: 0, text: '=1' }]);
  });

  test('without a row has its header', async () => {
    const { get } = await openList(0);
    expect((await get()).body).toBe('n,text\r\n');
  });

  test('takes the filter, and goes on after a cursor', async () => {
    const { linesOf } = await openList(5);
    expect(await linesOf('?from=3')).toEqual(['n,text', "3,'=1", "4,'=1", '']);
    const cut = await linesOf('?limit=2');
    expect(cut).toEqual(['n,text', "0,'=1", "1,'=1", expect.stringMatching(/^# cut after 2 rows: .+,$/), '']);
    const cursor = /cursor=([\w-]+),/.exec(cut[3] ?? '')?.[1];
    expect(await linesOf(`?cursor=${cursor}`)).toEqual(['n,text', "2,'=1", "3,'=1", "4,'=1", '']);
  });

  test('says where it was cut at the most rows of a file', async () => {
    const { linesOf, pages } = await openList(CSV_ROWS_MAX + 1);
    const lines = await linesOf();
    expect([lines.length, pages.length]).toEqual([CSV_ROWS_MAX + 3, CSV_ROWS_MAX / PAGE_MAX]);
    expect(lines.at(-2)).toMatch(/^# cut after 100000 rows: the list goes on with cursor=[\w-]+,$/);
  });

  test('with as many rows as a file may have is whole', async () => {
    const { linesOf } = await openList(CSV_ROWS_MAX);
    expect((await linesOf()).at(-2)).toBe(`${CSV_ROWS_MAX - 1},'=1`);
  });

  test.each(['?limit=0', '?limit=201', '?cursor=!', '?other=1'])(
    'refuses %s like the JSON',
    async (query) => {
      const { get } = await openList(1);
      const [csv, json] = [await get(query), await get(query, 'application/json')];
      expect([csv.statusCode, csv.json().errors]).toEqual([400, json.json().errors]);
    },
  );

  test('is a problem if its first page is refused, and a broken transfer if a later one is', async () => {
    const { get } = await openList(PAGE_MAX * 3, { failsAt: PAGE_MAX });
    const first = await get(`?from=${PAGE_MAX}`);
    expect([first.statusCode, first.json().code]).toEqual([404, 'not_found']);
    await expect(get()).rejects.toThrow();
  });

  test('reads no page that the client has not asked for, and frees its place when the client leaves', async () => {
    const { app, pages } = await openList(CSV_ROWS_MAX);
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const open = async (leaving: AbortController) => {
      const { signal } = leaving;
      return fetch(`${address}/api/v1/numbers`, { headers: { accept: 'text/csv' }, signal });
    };
    const clients = Array.from({ length: FILES_PER_OPERATOR }, () => new AbortController());
    const answers = await Promise.all(clients.map(open));
    expect(answers.map(({ status }) => status)).toEqual(clients.map(() => 200));
    const one = new AbortController();
    const refused = await open(one);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
    expect(pages.length).toBeLessThan((clients.length * CSV_ROWS_MAX) / PAGE_MAX);
    for (const client of clients) client.abort();
    await expect.poll(async () => (await open(one)).status).toBe(200);
    one.abort();
  });
});
