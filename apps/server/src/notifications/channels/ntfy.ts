import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { asIs, fitLine, renderBody, utf8Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

/** ntfy makes an attachment of what is longer than 4,096 bytes. */
const BODY = { maxLength: 4_000, lengthOf: utf8Length, escape: asIs };
const TITLE = { maxLength: 250, lengthOf: utf8Length, escape: asIs };
const PRIORITY = { info: 3, warning: 3, error: 4, critical: 5 } as const;

/** Publishes as JSON to the root of the server: a body without `markdown` is shown as it is. */
export function sendNtfy(
  { server, topic }: { server: string; topic: string },
  { secret, message }: { secret: string | null; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const { id, subject, severity, link } = message;
  const body = JSON.stringify({
    topic,
    title: fitLine(subject, TITLE),
    message: renderBody({ ...message, link: null }, BODY),
    priority: PRIORITY[severity],
    // A repeated delivery replaces the first one.
    sequence_id: id,
    ...(link !== null && { click: link }),
  });
  const headers = secret === null ? {} : { authorization: `Bearer ${secret}` };
  return sendJson({ url: server, headers, body, secrets: [secret] }, deps);
}
