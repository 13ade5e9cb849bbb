import { once } from 'node:events';
import { createServer } from 'node:net';
import { untilRefused } from '@tidegate/testkit/free-port';
import { expect, onTestFinished, test } from 'vitest';
import { replyOf, startMailServer } from '../../testing/mail-server.ts';
import { hostileMessage, senderDeps } from '../../testing/receiving-server.ts';
import type { Message } from './message.ts';
import { type MailConfig, sendMail } from './smtp.ts';

const MESSAGE = hostileMessage(['web-1', '[x](http://evil)']);

function configAt(port: number, over: Partial<MailConfig> = {}): MailConfig {
  return {
    ...{ kind: 'smtp', host: 'localhost', port, tls: 'starttls', user: 'tidegate' },
    ...{ from: 'tidegate@example.org', to: ['ops@example.org', 'night@example.org'] },
    ...over,
  };
}

const send = (
  config: MailConfig,
  ca: string | null,
  { secret = 'hunter2', message = MESSAGE }: { secret?: string | null; message?: Message } = {},
) => sendMail(config, { secret, message }, senderDeps(ca));

test.each([
  ['STARTTLS', 'starttls', {}],
  ['TLS from the start', 'implicit', { secure: true }],
] as const)('a mail arrives over %s, after a login', async (_, tls, options) => {
  const { ca, mails, port } = await startMailServer(options);
  expect(await send(configAt(port, { tls }), ca)).toEqual({ kind: 'delivered', answer: '250 taken as 1' });
  const [mail] = mails;
  expect(mail).toMatchObject({
    isEncrypted: true,
    recipients: ['ops@example.org', 'night@example.org'],
    email: {
      from: { name: 'Tidegate', address: 'tidegate@example.org' },
      subject: '[Tidegate] Fix waits for web-1',
      messageId: `<${MESSAGE.id}@example.org>`,
      date: '2026-11-28T09:30:00.000Z',
    },
  });
  expect(mail?.email.text).toContain('• web-1\n• [x](http[:]//evil)');
  expect(mail?.email.text).toContain(MESSAGE.link);
  expect(mail?.email.html).toBeUndefined();
  expect(mail?.raw).toContain('Auto-Submitted: auto-generated');
});

test('no name of a host can add a header or a recipient', async () => {
  const { ca, mails, port } = await startMailServer();
  const evil = 'web\r\nBcc: thief@evil.example\r\n\r\nHello';
  const message = { ...hostileMessage([evil]), summary: `x\r\n.\r\nMAIL FROM:<a@b>\r\n${'ä'.repeat(3_000)}` };
  expect(await send(configAt(port), ca, { message })).toMatchObject({ kind: 'delivered' });
  expect(mails).toHaveLength(1);
  expect(mails[0]?.recipients).toEqual(['ops@example.org', 'night@example.org']);
  expect(mails[0]?.email.bcc).toBeUndefined();
  expect(mails[0]?.email.subject).toBe('[Tidegate] Fix waits for web Bcc: thief@evil.example Hello');
  expect(mails[0]?.email.text).toContain('\n.\nMAIL FROM:<a@b>\n');
});

test('nothing is sent in the clear unless the channel says so', async () => {
  const { ca, mails, port } = await startMailServer({ disabledCommands: ['STARTTLS'] });
  expect(await send(configAt(port), ca)).toMatchObject({
    isPermanent: true,
    reason: expect.stringContaining('offers no STARTTLS, so nothing was sent'),
  });
  expect(mails).toEqual([]);
  expect(await send(configAt(port, { tls: 'none', user: null }), ca, { secret: null })).toMatchObject({
    kind: 'delivered',
  });
  expect(mails[0]?.isEncrypted).toBe(false);
});

test.each(['starttls', 'implicit'] as const)(
  '%s: a certificate of another authority ends it',
  async (tls) => {
    const { mails, port } = await startMailServer({ secure: tls === 'implicit' });
    const outcome = await send(configAt(port, { tls }), null);
    expect(outcome).toMatchObject({
      isPermanent: false,
      reason: expect.stringContaining('authority that this server does not trust'),
    });
    expect(mails).toEqual([]);
  },
);

test('a certificate for another name ends it', async () => {
  const { ca, port } = await startMailServer();
  const outcome = await send(configAt(port, { host: '127.0.0.1' }), ca);
  expect(outcome).toMatchObject({ reason: expect.stringMatching(/certificate .* is for another name/) });
});

test('a port that speaks no TLS', async () => {
  const { ca, port } = await startMailServer();
  const outcome = await send(configAt(port, { tls: 'implicit' }), ca);
  expect(outcome).toMatchObject({ reason: expect.stringContaining('does not speak TLS') });
});

test('a refused login names the user, and not the password that the server repeats', async () => {
  const { ca, port } = await startMailServer();
  const outcome = await send(configAt(port), ca, { secret: 'hunter3' });
  expect(outcome).toMatchObject({
    isPermanent: true,
    reason: expect.stringContaining('refused the login of tidegate'),
  });
  expect(outcome).toMatchObject({ reason: expect.stringContaining('tidegate and *** do not match') });
  expect(JSON.stringify(outcome)).not.toContain('hunter3');
});

test('the login is not shown in the form in which it was sent', async () => {
  const sent = Buffer.from('\0tidegate\0hunter2').toString('base64');
  const { ca, port } = await startMailServer({
    onAuth: (_, __, done) => done(replyOf(535, `AUTH PLAIN ${sent} is refused`)),
  });
  expect(await send(configAt(port), ca)).toMatchObject({ answer: '535 AUTH PLAIN *** is refused' });
});

test('one refused recipient of two is told, and the mail is not sent again', async () => {
  const { ca, mails, port } = await startMailServer();
  const outcome = await send(configAt(port, { to: ['nobody@example.org', 'ops@example.org'] }), ca);
  expect(outcome).toEqual({
    kind: 'delivered',
    answer: '250 taken as 1 Refused recipients: nobody@example.org.',
  });
  expect(mails[0]?.recipients).toEqual(['ops@example.org']);
});

test.each([
  [550, true],
  [451, false],
] as const)('all recipients refused with %i', async (code, isPermanent) => {
  const onRcptTo = (_: unknown, __: unknown, done: (error: Error) => void) => done(replyOf(code, 'Not here'));
  const { ca, port } = await startMailServer({ onRcptTo });
  expect(await send(configAt(port), ca)).toMatchObject({
    isPermanent,
    reason: `localhost:${port} refused every recipient. It says: ${code} Not here`,
    answer: `${code} Not here`,
  });
});

test('a refused sender, and a mail that is not taken now', async () => {
  const refusing = await startMailServer({ onMailFrom: (_, __, done) => done(replyOf(553, 'Not yours')) });
  expect(await send(configAt(refusing.port), refusing.ca)).toMatchObject({
    isPermanent: true,
    reason: expect.stringContaining('refused the sender. It says: 553 Not yours'),
  });
  const full = await startMailServer({
    onData: (stream, _, done) => void stream.resume().on('end', () => done(replyOf(452, 'Disk full'))),
  });
  expect(await send(configAt(full.port), full.ca)).toMatchObject({
    isPermanent: false,
    reason: expect.stringContaining('did not take the mail. It says: 452 Disk full'),
  });
});

test('a private address is refused where no setting allows it', async () => {
  const deps = senderDeps(null, []);
  for (const host of ['localhost', '127.0.0.1', '10.1.2.3'])
    expect(await sendMail(configAt(1, { host }), { secret: 'x', message: MESSAGE }, deps)).toMatchObject({
      isPermanent: true,
      reason: expect.stringContaining('SERVICE_PRIVATE_DESTINATIONS'),
    });
});

test('a closed port, and a server that is no mail server', async () => {
  const listener = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(
    0,
    '127.0.0.1',
  );
  await once(listener, 'listening');
  const address = listener.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  onTestFinished(() => void listener.close());
  expect(await send(configAt(port), null)).toMatchObject({ kind: 'failed', isPermanent: false });
  listener.close();
  await once(listener, 'close');
  await untilRefused({ port, host: '127.0.0.1' });
  expect(await send(configAt(port), null)).toMatchObject({
    isPermanent: false,
    reason: expect.stringContaining('refused the connection'),
  });
});
