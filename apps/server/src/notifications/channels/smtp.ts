import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ChannelConfig } from '@tidegate/protocol/notification-channels';
import { createTransport, type NodemailerError } from 'nodemailer';
import { connectionFault } from './connection-faults.ts';
import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { redact } from './redact.ts';
import { asIs, fitLine, renderBody, utf8Length } from './render-message.ts';
import { SEND_TIMEOUT_MS } from './send-json.ts';

const BODY = { maxLength: 100_000, lengthOf: utf8Length, escape: asIs };
const SUBJECT = { maxLength: 500, lengthOf: utf8Length, escape: asIs };

export type MailConfig = Extract<ChannelConfig, { kind: 'smtp' }>;

/** One mail to all recipients, in plain text, where no markup acts. */
export async function sendMail(
  config: MailConfig,
  { secret, message }: { secret: string | null; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  // As AUTH PLAIN sends it (RFC 4616), in case a server repeats what it refuses.
  const secrets = [secret, secret && `\0${config.user}\0${secret}`];
  const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), deps.signal]);
  const { outgoing } = deps;
  let socket: Socket | null = null;
  try {
    outgoing.destinations.checkLiteral(config.host);
    const { host, port } = config;
    socket = connect({ host, port, lookup: outgoing.destinations.lookup });
    // Errors of the socket under TLS that come after the attempt has ended.
    socket.on('error', () => {});
    await once(socket, 'connect', { signal });
    const connection = socket;
    const transport = createTransport({
      ...{ host, port, secure: config.tls === 'implicit' },
      ...{ requireTLS: config.tls === 'starttls', ignoreTLS: config.tls === 'none' },
      ...{ disableFileAccess: true, disableUrlAccess: true },
      tls: { minVersion: 'TLSv1.2', ...(outgoing.ca === null ? {} : { ca: outgoing.ca }) },
      ...(config.user === null ? {} : { auth: { user: config.user, pass: secret ?? '' }, forceAuth: true }),
      getSocket: (_, done) => done(null, { connection }),
    });
    const { rejected, response } = await transport.sendMail({
      ...mailOf(config, message),
      date: new Date(deps.now()),
      signal,
    });
    // Sending again would reach the others twice.
    const refused = rejected.length > 0 ? ` Refused recipients: ${rejected.map(String).join(', ')}.` : '';
    return { kind: 'delivered', answer: redact(`${response}${refused}`, secrets) };
  } catch (error) {
    const { reason, isPermanent, answer } = mailFault(error, config);
    return {
      ...{ kind: 'failed', isPermanent, reason: redact(reason, secrets) },
      ...{ answer: answer && redact(answer, secrets), retryAfterMs: null },
    };
  } finally {
    socket?.destroy();
  }
}

function mailOf({ from, to }: MailConfig, message: Message) {
  const isUrgent = message.severity === 'critical';
  return {
    from: { name: 'Tidegate', address: from },
    to: [...to],
    subject: fitLine(`[Tidegate] ${message.subject}`, SUBJECT),
    text: `${renderBody(message, BODY)}\n`,
    // The same for each attempt: mail servers and readers drop the repeated one.
    messageId: `<${message.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: { 'auto-submitted': 'auto-generated' },
    ...(isUrgent && { priority: 'high' as const }),
  };
}

function mailFault(error: unknown, { host, port, user }: MailConfig) {
  const shown = `${host}:${port}`;
  if (!isMailError(error)) return { ...connectionFault(error, shown), answer: null };
  const { code, command, response: answer = null, permanent: isPermanent = false } = error;
  const said = answer === null ? '' : ` It says: ${answer}`;
  if (code === 'ETLS' && command === 'STARTTLS')
    return { reason: `${shown} offers no STARTTLS, so nothing was sent.${said}`, isPermanent: true, answer };
  if (code === 'ENOAUTH' || (code === 'EAUTH' && answer === null))
    return { reason: `${shown} offers no login that this server knows.`, isPermanent: true, answer };
  if (code === 'EAUTH')
    return { reason: `${shown} refused the login of ${user}.${said}`, isPermanent, answer };
  if (command === 'RCPT TO')
    return { reason: `${shown} refused every recipient.${said}`, isPermanent, answer };
  if (command === 'MAIL FROM') return { reason: `${shown} refused the sender.${said}`, isPermanent, answer };
  if (answer !== null) return { reason: `${shown} did not take the mail.${said}`, isPermanent, answer };
  return { ...connectionFault(error, shown), answer };
}

function isMailError(error: unknown): error is NodemailerError {
  return error instanceof Error && ('command' in error || 'responseCode' in error);
}
