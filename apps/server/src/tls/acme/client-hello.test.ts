import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ACME_PROTOCOL, HELLO_MAX_BYTES, offersAcme } from './client-hello.ts';

/** What OpenSSL sends first with these options. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  const socket = connect({ socket: wire, rejectUnauthorized: false, ...options });
  socket.on('error', () => {});
  const hello = await promise;
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  return hello;
}

const challenge = await helloOf({ servername: 'tidegate.example', ALPNProtocols: [ACME_PROTOCOL] });

describe('whether a client offers tls-alpn-01', () => {
  test.each<[string, ConnectionOptions, 'yes' | 'no']>([
    ['the protocol alone', { servername: 'a.example', ALPNProtocols: [ACME_PROTOCOL] }, 'yes'],
    ['the protocol among others', { servername: 'a.example', ALPNProtocols: ['h2', ACME_PROTOCOL] }, 'yes'],
    ['TLS 1.2', { servername: 'a.example', ALPNProtocols: [ACME_PROTOCOL], maxVersion: 'TLSv1.2' }, 'yes'],
    ['other protocols', { servername: 'a.example', ALPNProtocols: ['h2', 'http/1.1'] }, 'no'],
    ['a protocol that begins like it', { ALPNProtocols: [`${ACME_PROTOCOL}0`] }, 'no'],
    ['its name as host name', { servername: 'acme-tls.1' }, 'no'],
    ['no protocol', { servername: 'a.example' }, 'no'],
  ])('%s', async (_, options, offer) => {
    expect(offersAcme(await helloOf(options))).toBe(offer);
  });

  test('is not known before the whole record is there, and not changed by what follows', () => {
    for (let length = 0; length < challenge.length; length++) {
      expect(offersAcme(challenge.subarray(0, length))).toBe('partial');
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (more) => {
        expect(offersAcme(Buffer.concat([challenge, more]))).toBe('yes');
      }),
    );
  });

  test('any bytes are judged, and none of them for longer than one record', () => {
    const damaged = fc
      .tuple(fc.nat(challenge.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }))
      .map(([at, bytes]) =>
        Buffer.concat([challenge.subarray(0, at), bytes, challenge.subarray(at + bytes.length)]),
      );
    const any = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(damaged, any), (bytes) => ['yes', 'no', 'partial'].includes(offersAcme(bytes))),
    );
    const endless = Buffer.alloc(HELLO_MAX_BYTES, 22);
    expect(offersAcme(endless)).toBe('no');
    expect(offersAcme(Buffer.from([22, 3, 1, 0xff, 0xff]))).toBe('no');
  });
});
