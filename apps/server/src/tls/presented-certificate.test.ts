import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import { createAuthority } from '@tidegate/testkit/certificates';
import { createClock } from '@tidegate/testkit/clock';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../platform/ids.ts';
import {
  createPresentedCertificate,
  type PresentedCertificate,
  TICKET_KEY_MS,
} from './presented-certificate.ts';

async function open() {
  const authority = await createAuthority();
  const clock = createClock(Date.UTC(2026, 10, 29));
  const means = { now: clock.now, random: systemRandom };
  const presented = createPresentedCertificate(await authority.issue(['localhost']), means);
  async function listen(to: PresentedCertificate) {
    const server = createServer((socket) => socket.on('error', () => {}).resume());
    to.attach(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }
  function come(port: number, session?: Buffer) {
    const to = { port, host: '127.0.0.1', servername: 'localhost', ca: authority.cert };
    const socket = connect({ ...to, ...(session && { session }) }).resume();
    onTestFinished(() => void socket.destroy());
    return socket;
  }
  async function sessionAt(port: number): Promise<Buffer> {
    const [session]: Buffer[] = await once(come(port), 'session');
    if (session === undefined) throw new Error('no session');
    return session;
  }
  async function isResumed(port: number, session: Buffer) {
    const socket = come(port, session);
    await once(socket, 'secureConnect');
    return socket.isSessionReused();
  }
  return { authority, clock, means, presented, listen, sessionAt, isResumed };
}

test('a session is resumed until the certificate changes; then its ticket leads to a full handshake', async () => {
  const { authority, presented, listen, sessionAt, isResumed } = await open();
  const port = await listen(presented);
  const session = await sessionAt(port);
  expect(await isResumed(port, session)).toBe(true);
  presented.present(await authority.issue(['localhost']));
  expect(await isResumed(port, session)).toBe(false);
});

test('another process of the server resumes the session, also after a new key of tickets', async () => {
  const { clock, means, presented, listen, sessionAt, isResumed } = await open();
  const other = createPresentedCertificate(null, means);
  const share = () => {
    const shared = presented.shared();
    if (shared === null) throw new Error('nothing is shared');
    other.follow(shared);
    return shared;
  };
  const [first, second] = [await listen(presented), await listen(other)];
  const before = share();
  const session = await sessionAt(first);
  expect(await isResumed(second, session)).toBe(true);
  expect(await isResumed(first, await sessionAt(second))).toBe(true);
  expect(presented.shared()).toBe(before);
  clock.advance(TICKET_KEY_MS);
  expect(share().ticketKey).not.toBe(before.ticketKey);
  expect([await isResumed(first, session), await isResumed(second, session)]).toEqual([false, false]);
  expect(await isResumed(first, await sessionAt(second))).toBe(true);
});

test('a server alone renews the key of its tickets before a connection after its end', async () => {
  const { clock, presented, listen, sessionAt, isResumed } = await open();
  const port = await listen(presented);
  const session = await sessionAt(port);
  clock.advance(TICKET_KEY_MS - 1);
  expect(await isResumed(port, session)).toBe(true);
  clock.advance(1);
  expect(await isResumed(port, session)).toBe(false);
});
