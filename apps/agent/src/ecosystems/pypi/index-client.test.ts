import type { IncomingMessage, RequestListener } from 'node:http';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { startPypiIndex } from '@tidegate/testkit/pypi-index';
import { PYPI_DEMO } from '@tidegate/testkit/pypi-packages';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostPaths } from '../host-places.ts';
import { type IndexLimits, openIndex } from './index-client.ts';

/** Long enough for an answer on a busy machine. */
const PATIENT: IndexLimits = { pageTimeoutMs: 30_000, pageMaxBytes: 10_000 };
const QUICK: IndexLimits = { ...PATIENT, pageTimeoutMs: 1_000 };

async function indexOf(listener: RequestListener, limits = PATIENT) {
  const requests: IncomingMessage[] = [];
  const { url, stop } = await listenOnLoopback((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  onTestFinished(stop);
  return { index: openIndex(hostPaths({ pypi_index: `${url}/simple` }), limits), url, requests };
}

describe('an index', () => {
  test('is queried once per project, by its normalised name', async () => {
    const fake = await startPypiIndex(PYPI_DEMO.offered);
    onTestFinished(fake.stop);
    const index = openIndex(hostPaths({ pypi_index: fake.url }));
    const [first, second] = await Promise.all([index.files('Demo.Lib'), index.files('demo-lib')]);
    expect(first).toBe(second);
    expect(first).toMatchObject({ ok: true, value: [{ version: '1.1' }] });
    expect(fake.requests).toEqual(['/simple/demo-lib/']);
  });

  test('is given up after three unanswered requests, with the reason', async () => {
    const { index, url, requests } = await indexOf(() => {}, QUICK);
    for (const name of ['a', 'b', 'c']) {
      expect(await index.files(name)).toEqual({
        ok: false,
        reason: `${url}/simple cannot be queried for ${name} (TimeoutError)`,
      });
    }
    expect(await index.files('d')).toEqual({ ok: false, reason: `${url}/simple does not answer` });
    expect(requests).toHaveLength(3);
  });

  test('that answers without end is cut off', async () => {
    const { index, url } = await indexOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write('<a '.repeat(10_000)); // unfinished: more would follow
    });
    expect(await index.files('a')).toEqual({
      ok: false,
      reason: `${url}/simple cannot be queried for a (over 10000 bytes)`,
    });
  });

  test('cannot redirect the agent', async () => {
    const { index, requests } = await indexOf((_request, response) => {
      response.writeHead(302, { location: '/other' }).end();
    });
    expect((await index.files('a')).ok).toBe(false);
    expect(requests.map(({ url }) => url)).toEqual(['/simple/a/']);
  });

  test('with a password receives it as a header; no text shows it', async () => {
    const { url, requests } = await indexOf((_request, response) => response.writeHead(401).end());
    const address = `${url.replace('//', '//ann:se%40cret@')}/simple/`;
    const index = openIndex(hostPaths({ pypi_index: address }), PATIENT);
    const answer = await index.files('a');
    expect(answer).toEqual({ ok: false, reason: `${url}/simple answers 401 for a` });
    expect(index.origin).toBe(`${url}/simple`);
    expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ann:se@cret').toString('base64')}`);
  });

  test('that states no size is queried for it', async () => {
    const fake = await startPypiIndex(PYPI_DEMO.offered);
    onTestFinished(fake.stop);
    fake.mode = 'html';
    const index = openIndex(hostPaths({ pypi_index: fake.url }));
    const page = await index.files('demo-lib');
    const [file] = page.ok ? page.value : [];
    if (file === undefined) throw new Error('no file');
    expect(file.sizeBytes).toBeNull();
    const bytes = fake.bytesOf(file.filename);
    expect(await index.sizeOf(file)).toEqual({ ok: true, value: bytes.length });
    fake.withdraw(file.filename);
    expect((await index.sizeOf(file)).ok).toBe(false);
  });
});
