import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { fitLine, renderBody, utf16Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

/** Mentions and links of Slack begin with "<"; these three are its only escapes. */
const escapeText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const HEADER = { maxLength: 150, lengthOf: utf16Length, escape: escapeText };
const SECTION = { maxLength: 3_000, lengthOf: utf16Length, escape: escapeText };

/** Text of hosts is `plain_text`, where no markup acts; the link is the only `mrkdwn`, and is the server's own. */
export function sendSlack(
  { secret: url, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const title = fitLine(message.subject, HEADER);
  const text = renderBody({ ...message, link: null }, SECTION);
  const plain = (value: string) => ({ type: 'plain_text', text: value, emoji: false });
  const link = message.link && `<${escapeText(message.link)}|Open in Tidegate>`;
  const body = JSON.stringify({
    text: title,
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(title) },
      ...(text === '' ? [] : [{ type: 'section', text: plain(text) }]),
      ...(link ? [{ type: 'section', text: { type: 'mrkdwn', text: link } }] : []),
    ],
  });
  return sendJson({ url, body, secrets: [url] }, deps);
}
