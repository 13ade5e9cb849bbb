import { once } from 'node:events';
import { createServer } from 'node:http';
import { type FakeOsv, startFakeOsv } from '@tidegate/testkit/fake-osv';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ANSWER_MAX_BYTES } from '../platform/upstream.ts';
import { createOsvClient, type OsvClient } from './osv-client.ts';

const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };
const CLEAN = { ecosystem: 'npm', name: 'left', version: '1.0.0' };
const sleep = async () => {};
/** Generous timeouts, so that a busy machine does not fail a healthy source. */
const PATIENCE_MS = 15_000;
const patient = { batchMs: PATIENCE_MS, singleMs: PATIENCE_MS };

let osv: FakeOsv;
let client: OsvClient;
beforeEach(async () => {
  osv = await startFakeOsv();
  client = createOsvClient({ baseUrl: `${osv.url}/`, timeouts: patient, sleep });
  osv.addRecord({ id: 'CVE-1', modified: '2026-01-02T00:00:00Z' }, [
    { ...OPENSSL, versions: [OPENSSL.version] },
  ]);
});
afterEach(async () => {
  await client.close();
  await osv.stop();
});

const paths = () => osv.requests.map(({ path }) => path);

describe('the source’s answers', () => {
  test('hits and clean packages come back in the order of the subjects', async () => {
    expect(await client.query([CLEAN, OPENSSL])).toEqual([
      { kind: 'hits', ids: [] },
      { kind: 'hits', ids: [{ id: 'CVE-1', modified: '2026-01-02T00:00:00Z' }] },
    ]);
    expect(paths()).toEqual(['/v1/querybatch']);
  });

  test('every page is read, and only queries with another page are repeated', async () => {
    osv.pageSize = 2;
    for (const id of ['A', 'B', 'C', 'D']) osv.addRecord({ id }, [{ ...OPENSSL, all: true }]);
    const [clean, openssl] = await client.query([CLEAN, OPENSSL]);
    expect(clean).toEqual({ kind: 'hits', ids: [] });
    expect(openssl).toMatchObject({ ids: ['A', 'B', 'C', 'CVE-1', 'D'].map((id) => ({ id })) });
    expect(osv.requests).toHaveLength(3);
    expect(osv.requests[1]?.body).toMatchObject({ queries: [{ package: { name: 'openssl' } }] });
  });

  test('a page token without vulns is not clean: the query goes on', async () => {
    osv.mode = 'page-token-without-vulns';
    expect(await client.query([OPENSSL])).toMatchObject([{ kind: 'hits', ids: [{ id: 'CVE-1' }] }]);
    expect(osv.requests).toHaveLength(2);
  });

  test('a failed page keeps what was read, marked as incomplete', async () => {
    osv.pageSize = 1;
    osv.addRecord({ id: 'A' }, [{ ...OPENSSL, all: true }]);
    const failing = createOsvClient({ baseUrl: osv.url, timeouts: patient, sleep });
    const stop = watch(
      () => osv.requests.length === 1,
      () => (osv.mode = 'failing'),
    );
    expect(await failing.query([OPENSSL])).toMatchObject([{ kind: 'unreachable', ids: [{ id: 'A' }] }]);
    stop();
    await failing.close();
  });

  test('a refused batch is halved until the valid queries are answered', async () => {
    osv.mode = 'refuse-batch';
    const answers = await client.query([CLEAN, OPENSSL, CLEAN]);
    expect(answers).toMatchObject([{ ids: [] }, { ids: [{ id: 'CVE-1' }] }, { ids: [] }]);
    expect(paths().filter((path) => path === '/v1/query')).toHaveLength(3);
  });

  test('one refused query does not fail the others', async () => {
    const bad = { ecosystem: 'Fedora:40', name: 'a', version: '1' };
    const answers = await client.query([CLEAN, bad, OPENSSL, CLEAN]);
    expect(answers).toMatchObject([
      { kind: 'hits' },
      { kind: 'refused' },
      { kind: 'hits', ids: [{ id: 'CVE-1' }] },
      { kind: 'hits' },
    ]);
  });

  test('bisecting ends at its limit, and unanswered subjects are not clean', async () => {
    osv.mode = 'refuse-batch';
    const many = Array.from({ length: 300 }, (_, i) => ({ ...CLEAN, name: `n${i}` }));
    const answers = await client.query(many);
    expect(osv.requests.length).toBeLessThanOrEqual(256);
    expect(answers.at(-1)).toMatchObject({ kind: 'garbage' });
  });
});

describe('the source’s faults', () => {
  test.each([
    ['down', 'unreachable', 2],
    ['failing', 'unreachable', 2],
    ['hang', 'unreachable', 1],
    ['garbage', 'garbage', 1],
  ] as const)('%s is the value %s after %i calls', async (mode, kind, calls) => {
    osv.mode = mode;
    const timeouts = mode === 'hang' ? { batchMs: 1_000, singleMs: 1_000 } : patient;
    const asking = createOsvClient({ baseUrl: osv.url, timeouts, sleep });
    onTestFinished(() => asking.close());
    expect(await asking.query([OPENSSL])).toMatchObject([{ kind, ids: [] }]);
    expect(await asking.fetchRecord('CVE-1')).toMatchObject({ kind });
    expect(osv.requests).toHaveLength(calls * 2);
  });

  test.each([
    ['a redirect is not followed', 302, ''],
    ['results of another number are not an answer', 200, '{"results":[{},{}]}'],
    ['an id that is no text is not an answer', 200, '{"results":[{"vulns":[{"id":1}]}]}'],
    ['a response beyond the size limit is not read', 200, ' '.repeat(ANSWER_MAX_BYTES + 1)],
  ])('%s', async (_what, status, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { location: osv.url }).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : null;
    const other = createOsvClient({ baseUrl: `http://127.0.0.1:${port}`, sleep });
    onTestFinished(() => other.close());
    expect(await other.query([OPENSSL])).toMatchObject([{ kind: 'garbage' }]);
    expect(osv.requests).toHaveLength(0);
  });
});

test('a record is fetched by its id, an unknown one is absent', async () => {
  expect(await client.fetchRecord('CVE-1')).toMatchObject({ kind: 'record', record: { id: 'CVE-1' } });
  expect(await client.fetchRecord('CVE-2')).toEqual({ kind: 'absent' });
});

/** Runs an act as soon as a condition holds, between two turns of the event loop. */
function watch(condition: () => boolean, act: () => void): () => void {
  let timer = setImmediate(check);
  function check() {
    if (condition()) return act();
    timer = setImmediate(check);
  }
  return () => clearImmediate(timer);
}
