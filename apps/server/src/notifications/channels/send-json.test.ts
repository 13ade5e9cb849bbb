import { createSelfSigned } from '@tidegate/testkit/certificates';
import { untilRefused } from '@tidegate/testkit/free-port';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Answer,
  localCertificate,
  SENT_AT_MS,
  senderDeps,
  startReceiver,
} from '../../testing/receiving-server.ts';
import type { SenderDeps } from './message.ts';
import { sendJson } from './send-json.ts';

const call = (url: string, deps: SenderDeps) => sendJson({ url, body: '{}', secrets: [] }, deps);

test.each<[Answer, boolean, number | null, string]>([
  [{ status: 302, headers: { location: 'https://localhost/' } }, true, null, 'Enter the final address'],
  [
    { status: 400, body: 'no such field' },
    true,
    null,
    'does not accept the message (400). It says: no such field',
  ],
  [{ status: 401 }, true, null, 'refuses the credentials (401)'],
  [{ status: 403 }, true, null, 'does not allow this (403)'],
  [{ status: 404 }, true, null, 'knows no such address (404)'],
  [{ status: 408 }, false, null, 'in time (408)'],
  [{ status: 410 }, true, null, 'no longer accepts messages at this address (410)'],
  [{ status: 429, headers: { 'retry-after': '120' } }, false, 120_000, 'asks to wait (429)'],
  [{ status: 429, headers: { 'retry-after': '999999999' } }, false, 86_400_000, 'asks to wait (429)'],
  [{ status: 429, headers: { 'retry-after': 'soon' } }, false, null, 'asks to wait (429)'],
  [
    { status: 503, headers: { 'retry-after': new Date(SENT_AT_MS + 5_000).toUTCString() } },
    false,
    5_000,
    'is out of order (503)',
  ],
  [{ status: 503, headers: { 'retry-after': new Date(0).toUTCString() } }, false, 0, 'is out of order (503)'],
])('an answer of %o', async (answer, isPermanent, retryAfterMs, words) => {
  const { origin, received, deps } = await startReceiver(() => answer);
  const outcome = await call(`${origin}/`, deps);
  expect(outcome).toMatchObject({
    kind: 'failed',
    isPermanent,
    retryAfterMs,
    reason: expect.stringContaining(words),
  });
  expect(received).toHaveLength(1);
});

test('a long or broken answer does not undo a delivery', async () => {
  const { origin, deps } = await startReceiver(() => ({ status: 204 }));
  expect(await call(origin, deps)).toEqual({ kind: 'delivered', answer: '204' });
  const long = await startReceiver(() => ({ status: 200, body: 'x'.repeat(1_000_000) }));
  const outcome = await call(long.origin, long.deps);
  expect(outcome).toMatchObject({ kind: 'delivered', answer: expect.stringMatching(/^200: x{490,500}…$/) });
});

test('a name that DNS does not know', async () => {
  const outcome = await call('https://no-such-name.invalid/', senderDeps(null));
  expect(outcome).toMatchObject({
    isPermanent: false,
    reason: expect.stringContaining('no-such-name.invalid'),
  });
  expect(outcome).toMatchObject({ reason: expect.stringMatching(/DNS/) });
});

test.each([
  'https://127.0.0.1:1/',
  'https://[::1]:1/',
  'https://localhost:1/',
  'https://0x7f.1:1/',
  'https://169.254.169.254/',
])('%s is refused where no setting allows it', async (url) => {
  expect(await call(url, senderDeps(null, []))).toMatchObject({
    isPermanent: true,
    reason: expect.stringContaining('SERVICE_PRIVATE_DESTINATIONS'),
  });
});

test('a port where nothing listens', async () => {
  const server = await listenOnLoopback(() => {});
  await server.stop();
  await untilRefused({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  const outcome = await call(server.url.replace('http:', 'https:'), senderDeps(null));
  expect(outcome).toMatchObject({
    isPermanent: false,
    reason: expect.stringContaining('refused the connection'),
  });
});

test('a certificate of another authority, of another name, and no TLS at all', async () => {
  const { ca } = await localCertificate();
  const deps = senderDeps(ca);
  const own = await listenWithTls(
    await createSelfSigned(['localhost']),
    (_, response) => void response.end(),
  );
  const plain = await listenOnLoopback((_, response) => void response.end());
  onTestFinished(own.stop);
  onTestFinished(plain.stop);
  const { origin } = await startReceiver();
  const reasonOf = async (url: string) => ({ reason: '', ...(await call(url, deps)) }).reason;
  expect(await reasonOf(`https://localhost:${own.port}/`)).toMatch(
    /authority that this server does not trust/,
  );
  expect(await reasonOf(`${origin.replace('localhost', '127.0.0.1')}/`)).toMatch(
    /certificate .* is for another name/,
  );
  expect(await reasonOf(plain.url.replace('http:', 'https:'))).toMatch(/does not speak TLS/);
});

test('a server that stops ends the attempt', async () => {
  const never = await listenOnLoopback(() => {});
  onTestFinished(never.stop);
  const deps = { ...senderDeps(null), signal: AbortSignal.abort() };
  expect(await call(never.url, deps)).toMatchObject({ kind: 'failed', isPermanent: false });
});
