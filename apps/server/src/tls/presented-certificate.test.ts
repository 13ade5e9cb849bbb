import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import { createAuthority } from '@tidegate/testkit/certificates';
import { expect, onTestFinished, test } from 'vitest';
import { createPresentedCertificate } from './presented-certificate.ts';

test('a session is resumed until the certificate changes; then its ticket leads to a full handshake', async () => {
  const authority = await createAuthority();
  const presented = createPresentedCertificate(await authority.issue(['localhost']));
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  presented.attach(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;

  function come(session?: Buffer) {
    const to = { port, host: '127.0.0.1', servername: 'localhost', ca: authority.cert };
    const socket = connect({ ...to, ...(session && { session }) }).resume();
    onTestFinished(() => void socket.destroy());
    return socket;
  }
  async function isResumed(session: Buffer) {
    const socket = come(session);
    await once(socket, 'secureConnect');
    return socket.isSessionReused();
  }

  const [session]: Buffer[] = await once(come(), 'session');
  if (session === undefined) throw new Error('no session');
  expect(await isResumed(session)).toBe(true);
  presented.present(await authority.issue(['localhost']));
  expect(await isResumed(session)).toBe(false);
});
