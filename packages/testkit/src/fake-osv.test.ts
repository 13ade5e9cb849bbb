import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FakeOsv, startFakeOsv } from './fake-osv.ts';
import { FIRST_PAGE_TOKEN } from './fake-osv-records.ts';

const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl' };
const AFFECTED = { ...OPENSSL, versions: ['3.0.11-1~deb12u2'] };

let osv: FakeOsv;
beforeEach(async () => {
  osv = await startFakeOsv({ covered: ['Debian:12'] });
});
afterEach(() => osv.stop());

const post = (path: string, body: unknown, signal?: AbortSignal) =>
  fetch(osv.url + path, { method: 'POST', body: JSON.stringify(body), ...(signal ? { signal } : {}) });
const ask = async (query: unknown) => (await post('/v1/query', query)).json();
const batch = async (...queries: unknown[]) => (await post('/v1/querybatch', { queries })).json();
const at = (version: string, target: object = OPENSSL) => ({ package: target, version });

describe('what the API answers', () => {
  test('a hit is a full record at /v1/query, its id and time at /v1/querybatch, and can be fetched by id', async () => {
    const record = osv.addRecord({ id: 'CVE-1', modified: '2026-01-02T00:00:00Z', summary: 's' }, [AFFECTED]);
    expect(record).toMatchObject({ schema_version: '1.7.4', affected: [{ package: OPENSSL }] });
    expect(await ask(at('3.0.11-1~deb12u2'))).toEqual({ vulns: [record] });
    expect(await batch(at('3.0.11-1~deb12u2'))).toEqual({
      results: [{ vulns: [{ id: 'CVE-1', modified: '2026-01-02T00:00:00Z' }] }],
    });
    expect(await (await fetch(`${osv.url}/v1/vulns/CVE-1`)).json()).toEqual(record);
    expect((await fetch(`${osv.url}/v1/vulns/cve-1`)).status).toBe(404);
  });

  test('clean is an empty object, and answers stand in the order of the queries', async () => {
    osv.addRecord({ id: 'CVE-1' }, [AFFECTED]);
    expect(await ask(at('3.0.20-1'))).toEqual({});
    const answer = await batch(
      at('3.0.20-1'),
      at('3.0.11-1~deb12u2'),
      at('9', { ...OPENSSL, name: 'other' }),
    );
    expect(answer).toMatchObject({ results: [{}, { vulns: [{ id: 'CVE-1' }] }, {}] });
  });

  test.each([
    [
      'every version',
      { ecosystem: 'npm', name: 'left', all: true },
      at('7', { ecosystem: 'npm', name: 'left' }),
      1,
    ],
    ['every release of a bare ecosystem', { ...AFFECTED, ecosystem: 'Debian' }, at('3.0.11-1~deb12u2'), 1],
    ['its own release only', { ...AFFECTED, ecosystem: 'Debian:11' }, at('3.0.11-1~deb12u2'), 0],
    [
      'normal PyPI names',
      { ecosystem: 'PyPI', name: 'a-b', all: true },
      at('1', { ecosystem: 'PyPI', name: 'A_b' }),
      1,
    ],
    [
      'nothing by an unknown purl',
      AFFECTED,
      { package: { purl: 'pkg:deb/debian/openssl?distro=debian-12' } },
      0,
    ],
  ])('a record hits %s', async (_what, affects, query, hits) => {
    osv.addRecord({ id: 'X-1' }, [affects]);
    expect(await ask(query)).toEqual(hits === 0 ? {} : { vulns: [expect.objectContaining({ id: 'X-1' })] });
  });

  test('a withdrawn record no longer hits but can still be fetched, and nothing is left after clear', async () => {
    osv.addRecord({ id: 'CVE-1' }, [AFFECTED]);
    osv.withdraw('CVE-1', '2026-02-01T00:00:00Z');
    expect(await ask(at('3.0.11-1~deb12u2'))).toEqual({});
    expect(await (await fetch(`${osv.url}/v1/vulns/CVE-1`)).json()).toMatchObject({
      withdrawn: '2026-02-01T00:00:00Z',
      modified: '2026-02-01T00:00:00Z',
    });
    expect(() => osv.withdraw('CVE-2')).toThrow(/no record CVE-2/);
    osv.clear();
    expect((await fetch(`${osv.url}/v1/vulns/CVE-1`)).status).toBe(404);
  });

  test('the sentinel hits where an ecosystem is covered; an unknown release is 200 and empty', async () => {
    expect(await batch(at('0'), at('0', { ecosystem: 'Debian:12', name: 'linux' }))).toMatchObject({
      results: [{ vulns: [{ id: 'SENTINEL-Debian-12' }] }, { vulns: [{ id: 'SENTINEL-Debian-12' }] }],
    });
    expect((await fetch(`${osv.url}/v1/vulns/SENTINEL-Debian-12`)).status).toBe(200);
    expect(await ask(at('0', { ...OPENSSL, ecosystem: 'Debian:99' }))).toEqual({});
    expect(await ask(at('1'))).toEqual({});
    osv.covered.delete('Debian:12');
    expect(await ask(at('0'))).toEqual({});
  });

  test('each query of a batch has its own pages, fetched by the same query and its token', async () => {
    osv.pageSize = 2;
    for (const id of ['A', 'B', 'C', 'D', 'E', 'F']) osv.addRecord({ id }, [{ ...OPENSSL, all: true }]);
    const ids: string[] = [];
    let query: object = at('1');
    for (let pages = 0; pages < 3; pages++) {
      const { first, second } = twoResults(await batch(query, at('1', { ...OPENSSL, name: 'other' })));
      expect(second).toEqual({});
      for (const { id } of first.vulns) ids.push(id);
      query = { ...at('1'), page_token: first.next_page_token };
    }
    expect(ids).toEqual(['A', 'B', 'C', 'D', 'E', 'F']);
    expect(query).toMatchObject({ page_token: undefined });
  });

  test.each([
    ['an unknown ecosystem', { package: { name: 'a', ecosystem: 'Fedora:40' }, version: '1' }],
    ['no ecosystem', { package: { name: 'a' }, version: '1' }],
    ['no name', { package: { ecosystem: 'npm' }, version: '1' }],
    ['a token of another kind', { ...at('1'), page_token: 'x' }],
    ['no object', 'a'],
  ])('one bad query (%s) fails its whole batch with its index', async (_what, bad) => {
    const answer = await post('/v1/querybatch', { queries: [at('1'), bad, at('1')] });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: 3,
      message: expect.stringContaining('error in query at index 1'),
    });
    expect((await post('/v1/query', bad)).status).toBe(400);
  });

  test('a batch holds at most 1,000 queries', async () => {
    const queries = Array.from({ length: 1_001 }, () => at('1'));
    expect((await post('/v1/querybatch', { queries: queries.slice(1) })).status).toBe(200);
    const answer = await post('/v1/querybatch', { queries });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ message: 'too many queries' });
    expect((await fetch(`${osv.url}/v1/other`)).status).toBe(404);
  });
});

describe('faults', () => {
  test('down closes the connection, and the request is in the log', async () => {
    osv.mode = 'down';
    await expect(post('/v1/query', at('1'))).rejects.toThrow('fetch failed');
    // A client may try a connection that was closed once more by itself.
    expect(osv.requests[0]).toEqual({ method: 'POST', path: '/v1/query', body: at('1') });
  });

  test('hang never answers, and a hanging request does not keep the fake from stopping', async () => {
    osv.mode = 'hang';
    const patience = new AbortController();
    const asked = post('/v1/query', at('1'), patience.signal);
    await expect.poll(() => osv.requests.length).toBe(1);
    patience.abort();
    await expect(asked).rejects.toThrow(/aborted/);
    const left = post('/v1/query', at('1'));
    await expect.poll(() => osv.requests.length).toBe(2);
    await osv.stop();
    await expect(left).rejects.toThrow('fetch failed');
  });

  test('garbage is 200 and not JSON; failing is 503', async () => {
    osv.mode = 'garbage';
    const answer = await post('/v1/querybatch', { queries: [] });
    expect(answer.status).toBe(200);
    await expect(answer.json()).rejects.toThrow(SyntaxError);
    osv.mode = 'failing';
    expect((await post('/v1/query', at('1'))).status).toBe(503);
  });

  test('refuse-batch refuses every batch and answers single queries', async () => {
    osv.mode = 'refuse-batch';
    expect((await post('/v1/querybatch', { queries: [at('1')] })).status).toBe(400);
    expect(await ask(at('1'))).toEqual({});
  });

  test('a page token without vulns is not clean: the hits are on the page behind it', async () => {
    osv.addRecord({ id: 'CVE-1' }, [AFFECTED]);
    osv.mode = 'page-token-without-vulns';
    const query = at('3.0.11-1~deb12u2');
    expect(await batch(query)).toEqual({ results: [{ next_page_token: FIRST_PAGE_TOKEN }] });
    expect(await batch({ ...query, page_token: FIRST_PAGE_TOKEN })).toMatchObject({
      results: [{ vulns: [{ id: 'CVE-1' }] }],
    });
  });

  test('held requests are answered correctly once released', async () => {
    const release = osv.hold();
    let isAnswered = false;
    const asked = ask(at('0')).finally(() => {
      isAnswered = true;
    });
    await expect.poll(() => osv.requests.length).toBe(1);
    expect(isAnswered).toBe(false);
    release();
    expect(await asked).toHaveProperty('vulns');
  });
});

const TwoResults = Type.Object({
  results: Type.Tuple([
    Type.Object({
      vulns: Type.Array(Type.Object({ id: Type.String() })),
      next_page_token: Type.Optional(Type.String()),
    }),
    Type.Object({}),
  ]),
});

function twoResults(answer: unknown): { first: Static<typeof TwoResults>['results'][0]; second: object } {
  const [first, second] = Value.Parse(TwoResults, answer).results;
  return { first, second };
}
