import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { renderText, utf16Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

const MARKUP = /[\\*_~`|<>[\]()#:\-+]/g;
/** Markdown is escaped; "@" is parted from the name that it would mention. */
const escapeText = (text: string) => text.replace(MARKUP, '\\$&').replaceAll('@', '@\u200b');
const CONTENT = { maxLength: 2_000, lengthOf: utf16Length, escape: escapeText };
/** Message flag SUPPRESS_EMBEDS. */
const NO_PREVIEWS = 4;

export function sendDiscord(
  { secret, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const url = new URL(secret);
  // Without it Discord answers before it has looked at the message.
  url.searchParams.set('wait', 'true');
  const content = renderText(message, CONTENT);
  const body = JSON.stringify({ content, allowed_mentions: { parse: [] }, flags: NO_PREVIEWS });
  return sendJson({ url: url.href, body, secrets: [secret] }, deps);
}
