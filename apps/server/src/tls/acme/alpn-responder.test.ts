import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttps } from 'node:https';
import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { createAuthority } from '@tidegate/testkit/certificates';
import { openOnLoopback } from '@tidegate/testkit/loopback';
import { describe, expect, onTestFinished, test } from 'vitest';
import { presentedOn } from '../../testing/tls-peer.ts';
import { createAlpnResponder } from './alpn-responder.ts';
import { ACME_PROTOCOL } from './client-hello.ts';

const NAME = 'tidegate.example';
const PROOF = { name: NAME, token: 'token', keyAuthorization: 'token.thumbprint' };
const pair = await (await createAuthority()).issue([NAME]);
const ORDINARY = new X509Certificate(pair.cert).fingerprint256;

async function place(options: { helloMs?: number } = {}) {
  const server = createHttps(pair, (_, response) => response.end('here'));
  server.on('tlsClientError', () => {});
  const responder = createAlpnResponder(Date.now, options);
  responder.attach(server);
  const { port, stop } = await openOnLoopback(server);
  onTestFinished(stop);
  return { responder, port };
}

const asAuthority = { ALPNProtocols: [ACME_PROTOCOL], servername: NAME };

describe('while a challenge is open', () => {
  test('the ACME server gets the proof, and everyone else the certificate of the server', async () => {
    const { responder, port } = await place();
    expect(await presentedOn(port, asAuthority)).not.toMatch(/^[0-9A-F:]+$/);
    const end = await responder.respond(PROOF);
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...asAuthority });
    await once(socket, 'secureConnect');
    const shown = socket.getPeerX509Certificate();
    expect([socket.alpnProtocol, shown?.subjectAltName]).toEqual([ACME_PROTOCOL, `DNS:${NAME}`]);
    const digest = createHash('sha256').update(PROOF.keyAuthorization).digest();
    expect(shown?.raw.includes(Buffer.concat([Buffer.from([0x04, 0x20]), digest]))).toBe(true);
    expect(await text(socket)).toBe('');

    expect(await presentedOn(port)).toBe(ORDINARY);
    expect(await presentedOn(port, { ALPNProtocols: ['h2', 'http/1.1'] })).toBe(ORDINARY);
    expect(await presentedOn(port, { servername: 'other.example' })).toBe(ORDINARY);
    expect(await presentedOn(port, { ...asAuthority, servername: 'other.example' })).not.toBe(ORDINARY);
    end();
    expect(await presentedOn(port, asAuthority)).not.toMatch(/^[0-9A-F:]+$/);
  });

  test('requests are answered, also those whose first bytes come one by one', async () => {
    const { responder, port } = await place();
    await responder.respond(PROOF);
    const slow = await dripTo(port);
    const socket = connect({ port: slow, host: '127.0.0.1', servername: NAME, rejectUnauthorized: false });
    socket.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\nConnection: close\r\n\r\n`);
    const said = await text(socket);
    expect([said.slice(0, 12), said.slice(-4)]).toEqual(['HTTP/1.1 200', 'here']);
    expect(await presentedOn(slow, asAuthority)).not.toBe(ORDINARY);
  });

  test.each([
    ['speaks no TLS', 'GET / HTTP/1.1\r\n\r\n'],
    ['says nothing', ''],
    ['stops in the middle', '\x16\x03\x01\x02\x00\x01'],
  ])('a client that %s is hung up on', async (_, bytes) => {
    const { responder, port } = await place({ helloMs: 500 });
    await responder.respond(PROOF);
    const socket = connectPlain(port, '127.0.0.1');
    socket.on('error', () => {});
    if (bytes !== '') socket.write(bytes, 'latin1');
    socket.resume();
    await once(socket, 'close');
    expect(await presentedOn(port)).toBe(ORDINARY);
  });
});

/** Passes what a client sends on to this port, a few bytes at a time. */
async function dripTo(port: number): Promise<number> {
  const proxy = createServer((client) => {
    const server = connectPlain({ port, host: '127.0.0.1', noDelay: true });
    server.pipe(client);
    for (const socket of [client, server]) socket.on('error', () => client.destroy());
    void drip(client, server);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  return typeof address === 'object' && address ? address.port : 0;
}

async function drip(from: Socket, to: Socket): Promise<void> {
  for await (const chunk of from) {
    for (let at = 0; at < chunk.length; at += 100) {
      to.write(chunk.subarray(at, at + 100));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  to.end();
}
