import { createSelfSigned } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { request } from 'undici';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createOutgoing } from './outgoing.ts';
import { callUpstream } from './upstream.ts';

const NAME = 'osv.test';
let port: number;
let proxy: Awaited<ReturnType<typeof startConnectProxy>>;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  const server = await listenOnLoopback((_, response) => void response.end('{}'));
  port = Number(new URL(server.url).port);
  proxy = await startConnectProxy({ hosts: { [NAME]: port }, credentials: 'user:pass@word' });
  stops.push(server.stop, proxy.stop);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function call(url: string, env: Record<string, string>, ca: string | null = null) {
  const dispatcher = createOutgoing({ connections: 2, ca }, env);
  onTestFinished(() => dispatcher.close());
  const [timeoutMs, signal] = [5_000, new AbortController().signal];
  return callUpstream({ url, timeoutMs, dispatcher, signal, sleep: async () => {} });
}

const withCredentials = () => `http://user:pass%40word@${proxy.authority}`;

test('a name that only the proxy knows is reached through it, with user and password', async () => {
  expect(await call(`http://${NAME}/v1`, { HTTP_PROXY: withCredentials() })).toEqual({
    kind: 'answer',
    text: '{}',
  });
  expect(proxy.seen).toHaveLength(1);
});

test('https:// goes through a tunnel, and the certificate is still checked', async () => {
  const pair = await createSelfSigned([NAME]);
  const secure = await listenWithTls(pair, (_, response) => void response.end('secure'));
  stops.push(secure.stop);
  const tunnel = await startConnectProxy({ hosts: { [NAME]: secure.port } });
  stops.push(tunnel.stop);
  const answer = await call(`https://${NAME}/v1`, { HTTPS_PROXY: tunnel.url });
  expect(answer).toMatchObject({ kind: 'unreachable', cause: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  expect(new Set(tunnel.seen.map(({ method, target }) => `${method} ${target}`))).toEqual(
    new Set([`CONNECT ${NAME}:443`]),
  );
  expect(await call(`https://${NAME}/v1`, { HTTPS_PROXY: tunnel.url }, pair.cert)).toEqual({
    kind: 'answer',
    text: 'secure',
  });
});

test.each<[string, (url: string) => Record<string, string>]>([
  ['an exception of NO_PROXY', (url) => ({ HTTP_PROXY: url, NO_PROXY: NAME })],
  ['a variable for https:// alone', (url) => ({ HTTPS_PROXY: url })],
  ['no variable', () => ({})],
])('%s means no proxy', async (_, env) => {
  expect(await call(`http://${NAME}/`, env(withCredentials()))).toMatchObject({ kind: 'unreachable' });
  expect(proxy.seen).toEqual([]);
});

test('this machine is called directly, whatever the variables say', async () => {
  const answer = await call(`http://127.0.0.1:${port}/`, {
    HTTP_PROXY: withCredentials(),
    ALL_PROXY: proxy.url,
  });
  expect([answer.kind, proxy.seen]).toEqual(['answer', []]);
});

test.each([
  ['a proxy that wants a password', () => proxy.url],
  ['a variable that names no proxy', () => 'socks5://user:pass@proxy.test'],
])('%s makes the source unreachable and opens no other way', async (_, url) => {
  const answer = await call(`http://${NAME}/`, { HTTP_PROXY: url() });
  expect(answer.kind).not.toBe('answer');
  expect(JSON.stringify(answer)).not.toContain('pass');
});

test('a dispatcher closes with its proxies', async () => {
  const dispatcher = createOutgoing({ connections: 2 }, { HTTP_PROXY: withCredentials() });
  await (await request(`http://${NAME}/`, { dispatcher })).body.dump();
  await dispatcher.close();
  await expect(request(`http://${NAME}/`, { dispatcher })).rejects.toThrow();
});
