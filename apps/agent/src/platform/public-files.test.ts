import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { expect, onTestFinished, test } from 'vitest';
import { askPublicly, readStart } from './public-files.ts';

const REQUEST = { timeoutMs: 10_000, ca: null };

test.each([
  [4, { bytes: 'four', isWhole: true }],
  [5, { bytes: 'four', isWhole: true }],
  [3, { bytes: 'fou', isWhole: false }],
  [0, { bytes: '', isWhole: false }],
])('reads at most %i bytes of four, and says whether that is all', async (maxBytes, expected) => {
  const { bytes, isWhole } = await readStart(new Response('four'), maxBytes);
  expect({ bytes: bytes.toString(), isWhole }).toEqual(expected);
});

test('reads the start of what never ends', async () => {
  const server = await listenOnLoopback((_, response) => {
    const more = () => response.write('x'.repeat(65_536), () => setImmediate(more));
    more();
  });
  onTestFinished(() => server.stop());
  const read = await askPublicly(server.url, REQUEST, async (response) => ({
    ok: true,
    value: await readStart(response, 10),
  }));
  expect(read).toMatchObject({ ok: true, value: { isWhole: false } });
});

test('follows no redirect', async () => {
  const asked: (string | undefined)[] = [];
  const server = await listenOnLoopback((request, response) => {
    asked.push(request.url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  onTestFinished(() => server.stop());
  const answer = await askPublicly(server.url, REQUEST, async () => ({ ok: true, value: null }));
  expect([answer.ok, asked]).toEqual([false, ['/']]);
});
