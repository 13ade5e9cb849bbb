import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { localCertificate } from './receiving-server.ts';

export interface TakenMail {
  readonly recipients: readonly string[];
  /** As it came over the wire. */
  readonly raw: string;
  readonly email: Email;
  readonly isEncrypted: boolean;
}

/** A mail server on localhost with a login of tidegate and hunter2, and a certificate of `localCertificate`. */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const { ca, pair } = await localCertificate();
  const mails: TakenMail[] = [];
  const server = new SMTPServer({
    ...pair,
    authOptional: true,
    onAuth: ({ username, password }, _, done) =>
      username === 'tidegate' && password === 'hunter2'
        ? done(null, { user: username })
        : done(replyOf(535, `5.7.8 ${username} and ${password} do not match`)),
    onRcptTo: ({ address }, _, done) =>
      address.startsWith('nobody') ? done(replyOf(550, '5.1.1 No such user')) : done(),
    onData: async (stream, session, done) => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const raw = Buffer.concat(chunks);
      mails.push({
        recipients: session.envelope.rcptTo.map(({ address }) => address),
        raw: raw.toString(),
        email: await PostalMime.parse(raw),
        isEncrypted: session.secure,
      });
      done(null, 'taken as 1');
    },
    ...options,
  });
  // A client that does not trust the certificate ends the handshake.
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { ca, mails, port: portOf(listening.address()) };
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === 'string') throw new Error('the mail server has no port');
  return address.port;
}

/** An answer of SMTP with this code. */
export function replyOf(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}
