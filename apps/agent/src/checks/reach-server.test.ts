import { createSelfSigned, type TestPair } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { untilRefused } from '@tidegate/testkit/free-port';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { html, json, startServer } from '../testing/scripted-server.ts';
import { shakeHands } from './handshake.ts';
import { reachServer } from './reach-server.ts';

const NAME = 'tidegate.test';
let pair: TestPair;
beforeAll(async () => {
  pair = await createSelfSigned([NAME]);
});
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function reach(serverUrl: string, env: Record<string, string> = {}, nowMs = Date.now()) {
  return reachServer({ serverUrl, allowInsecureHttp: false, env, nowMs: () => nowMs });
}

async function behindProxy(credentials?: string) {
  const server = await listenWithTls(pair, (_, response) => void response.end());
  const proxy = await startConnectProxy({
    hosts: { [NAME]: server.port },
    ...(credentials && { credentials }),
  });
  stops.push(server.stop, proxy.stop);
  return proxy;
}

test('a server on this machine gets only ok, and the clocks are compared', async () => {
  const server = await startServer(() => json({ status: 'ok', version: '1.0.0' }));
  stops.push(server.stop);
  const findings = await reach(server.url);
  expect(findings.map(({ check }) => check)).toEqual(['proxy', 'server', 'clock']);
  expect(findings.every(({ ok, isDoubtful }) => ok && !isDoubtful)).toBe(true);
  const late = await reach(server.url, {}, Date.now() + 600_000);
  expect(late.at(-1)).toMatchObject({ check: 'clock', ok: false, detail: expect.stringMatching(/ahead of/) });
});

test('the handshake goes through the proxy, sends nothing to the server, and reads the certificate', async () => {
  const proxy = await behindProxy('user:p@ss');
  const url = new URL(`https://${NAME}`);
  const shaken = await shakeHands(url, { proxy: `http://user:p%40ss@${proxy.authority}` });
  expect(shaken).toMatchObject({ ok: true, handshake: { distrust: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  if (shaken.ok) expect(shaken.handshake.validToMs - Date.now()).toBeGreaterThan(29 * 86_400_000 - 60_000);
  expect(proxy.seen).toMatchObject([{ method: 'CONNECT', target: `${NAME}:443` }]);
});

test('where root names the CA of the server, that one alone vouches for it', async () => {
  const { url: HTTPS_PROXY } = await behindProxy();
  const certificate = async (serverCa: string) => {
    const serverUrl = `https://${NAME}`;
    const nowMs = Date.now;
    const env = { HTTPS_PROXY };
    const findings = await reachServer({ serverUrl, allowInsecureHttp: false, serverCa, env, nowMs });
    return findings.find(({ check }) => check === 'certificate');
  };
  expect(await certificate(pair.cert)).toMatchObject({ ok: true });
  const { cert: other } = await createSelfSigned([NAME]);
  expect(await certificate(other)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('/etc/tidegate/server-ca.pem vouches for it'),
  });
});

test('each step stops at its own failure, and says what to do', async () => {
  const proxy = await behindProxy();
  const locked = await behindProxy('user:pass');
  const last = async (...args: Parameters<typeof reach>) => (await reach(...args)).at(-1);
  expect(await last('t.test')).toMatchObject({ check: 'server', ok: false });
  expect(await last('https://t.test', { HTTPS_PROXY: 'ftp://x' })).toMatchObject({
    check: 'proxy',
    ok: false,
  });
  expect(await last('https://tidegate.invalid')).toMatchObject({ check: 'DNS', ok: false });
  expect(await last('https://t.test', { HTTPS_PROXY: 'http://proxy.invalid' })).toMatchObject({
    check: 'DNS',
    detail: expect.stringMatching(/^the proxy .*proxy\.invalid/),
  });
  expect(await last(`https://${NAME}`, { HTTPS_PROXY: locked.url })).toMatchObject({
    check: 'connection',
    detail: expect.stringContaining('wants a user name'),
  });
  expect(await last('https://other.test', { HTTPS_PROXY: proxy.url })).toMatchObject({
    check: 'connection',
    detail: expect.stringContaining('status 502'),
  });
  expect(await last(`https://${NAME}`, { HTTPS_PROXY: proxy.url })).toMatchObject({
    check: 'certificate',
    ok: false,
    detail: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  });
});

test('a port where nothing listens, one without TLS, and a silent one are told apart', async () => {
  const plain = await startServer(() => html(200));
  const silent = await listenOnLoopback(() => {});
  stops.push(plain.stop, silent.stop);
  const gone = await listenOnLoopback(() => {});
  await gone.stop();
  await untilRefused({ port: Number(new URL(gone.url).port), host: '127.0.0.1' });
  const at = (url: string) => new URL(url.replace('http:', 'https:'));
  expect(await shakeHands(at(gone.url), { proxy: null })).toMatchObject({
    detail: expect.stringContaining('nothing listens'),
  });
  expect((await shakeHands(at(plain.url), { proxy: null })).ok).toBe(false);
  const proxied = await shakeHands(new URL(`https://${NAME}`), { proxy: silent.url, timeoutMs: 200 });
  expect(proxied.ok).toBe(false);
});

test('what answers in place of a server is told', async () => {
  const portal = await startServer(() => html(200));
  stops.push(portal.stop);
  expect((await reach(portal.url)).at(-1)).toMatchObject({ check: 'server', ok: false });
});
