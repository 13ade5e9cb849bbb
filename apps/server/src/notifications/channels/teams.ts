import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { fitLine, renderBody, utf8Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

/** A TextRun knows no Markdown; "{{DATE(…)}}" is the one thing that acts in it. */
const escapeText = (text: string) => text.replace(/\{(?=\{)/g, '{\u200b');
/** Teams refuses messages of more than 28 KB with their markup. */
const BODY = { maxLength: 15_000, lengthOf: utf8Length, escape: escapeText };
const TITLE = { maxLength: 800, lengthOf: utf8Length, escape: escapeText };

/** To a workflow "when a webhook request is received", as an adaptive card. */
export function sendTeams(
  { secret: url, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const lines = renderBody({ ...message, link: null }, BODY).split('\n');
  const run = (text: string, style: object) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...style }],
  });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      run(fitLine(message.subject, TITLE), { weight: 'Bolder', size: 'Medium' }),
      ...lines.filter((line) => line !== '').map((line) => run(line, {})),
    ],
    actions:
      message.link === null ? [] : [{ type: 'Action.OpenUrl', title: 'Open in Tidegate', url: message.link }],
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  const body = JSON.stringify({ type: 'message', attachments: [{ contentType, contentUrl: null, content }] });
  return sendJson({ url, body, secrets: [url] }, deps);
}
