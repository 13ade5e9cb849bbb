import { connect } from 'node:net';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createDestinations, ForbiddenDestination } from './destinations.ts';
import { createOutgoing } from './outgoing.ts';

const NONE = createDestinations([]);
const LOOPBACK = createDestinations(['127.0.0.0/8', '::1']);

test.each([
  ['127.0.0.1', 'loopback'],
  ['127.1', 'loopback in short'],
  ['0.0.0.0', 'unspecified'],
  ['10.1.2.3', 'private'],
  ['172.16.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['169.254.169.254', 'cloud metadata'],
  ['224.0.0.1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['[::1]', 'loopback'],
  ['::', 'unspecified'],
  ['::ffff:127.0.0.1', 'loopback, mapped'],
  ['::7f00:1', 'loopback, compatible'],
  ['64:ff9b::7f00:1', 'loopback behind NAT64'],
  ['2002:7f00:1::', 'loopback behind 6to4'],
  ['fe80::1', 'link-local'],
  ['fd00::1', 'unique local'],
  ['localhost', 'a name'],
])('%s is refused without a setting: %s', async (host) => {
  await expect(NONE.resolve(host)).rejects.toThrow(/not a public address.*SERVICE_PRIVATE_DESTINATIONS/);
});

test.each([
  ['9.9.9.9', 4],
  ['[2620:fe::fe]', 6],
])('%s is public', async (host, family) => {
  expect(await NONE.resolve(host)).toEqual([{ address: host.replace(/[[\]]/g, ''), family }]);
});

test.each([
  ['192.168.7.9', ['192.168.7.0/24'], true],
  ['192.168.8.9', ['192.168.7.0/24'], false],
  ['192.168.7.9', ['192.168.7.9'], true],
  ['::ffff:192.168.7.9', ['192.168.7.9'], true],
  ['fd00::1', ['fd00::/8'], true],
  ['fd00::1', ['10.0.0.0/8'], false],
])('%s with %s: %s', async (host, networks, isAllowed) => {
  const resolved = createDestinations(networks).resolve(host);
  if (isAllowed) expect((await resolved).map(({ address }) => address)).toEqual([host]);
  else await expect(resolved).rejects.toThrow(ForbiddenDestination);
});

test('a name that leads nowhere fails as such', async () => {
  await expect(NONE.resolve('tidegate.invalid')).rejects.not.toThrow(ForbiddenDestination);
});

test('connections are refused before a packet leaves, by address and by name', async () => {
  let seen = 0;
  const server = await listenOnLoopback((_, response) => {
    seen += 1;
    response.end('inside');
  });
  onTestFinished(server.stop);
  const { port } = new URL(server.url);
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]']) {
    const guarded = createOutgoing({ destinations: NONE }, {});
    await expect(request(`http://${host}:${port}/`, { dispatcher: guarded })).rejects.toMatchObject({
      code: 'FORBIDDEN_DESTINATION',
    });
    await guarded.close();
  }
  expect(seen).toBe(0);
  const open = createOutgoing({ destinations: LOOPBACK }, {});
  onTestFinished(() => open.close());
  for (const host of ['127.0.0.1', 'localhost']) {
    const { body } = await request(`http://${host}:${port}/`, { dispatcher: open });
    expect(await body.text()).toBe('inside');
  }
});

test('the certificate is checked against the name, not the resolved address', async () => {
  const pair = await createSelfSigned(['localhost']);
  const server = await listenWithTls(pair, (_, response) => void response.end('inside'));
  onTestFinished(server.stop);
  const dispatcher = createOutgoing({ destinations: LOOPBACK, ca: pair.cert }, {});
  onTestFinished(() => dispatcher.close());
  const { body } = await request(`https://localhost:${server.port}/`, { dispatcher });
  expect(await body.text()).toBe('inside');
});

test('an address is refused behind a proxy, and a name is left to it', async () => {
  const server = await listenOnLoopback((_, response) => void response.end('by proxy'));
  onTestFinished(server.stop);
  const proxy = await startConnectProxy({ hosts: { 'hooks.test': Number(new URL(server.url).port) } });
  onTestFinished(proxy.stop);
  const dispatcher = createOutgoing({ destinations: NONE }, { HTTP_PROXY: proxy.url });
  onTestFinished(() => dispatcher.close());
  await expect(request('http://10.0.0.1/', { dispatcher })).rejects.toThrow(ForbiddenDestination);
  const { body } = await request('http://hooks.test/', { dispatcher });
  expect(await body.text()).toBe('by proxy');
});

test.each([{ family: 4 }, {}])(
  'sockets without a choice of addresses get one that is allowed: %o',
  async (options) => {
    const server = await listenOnLoopback((_, response) => void response.end());
    onTestFinished(server.stop);
    const port = Number(new URL(server.url).port);
    const given = { host: 'localhost', port, autoSelectFamily: false, ...options };
    const refused = connect({ ...given, lookup: NONE.lookup });
    await expect(new Promise((_, reject) => refused.once('error', reject))).rejects.toThrow(
      ForbiddenDestination,
    );
    const socket = connect({ ...given, family: 4, lookup: LOOPBACK.lookup });
    await new Promise((done) => socket.once('connect', done));
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
  },
);
