import { Type } from 'typebox';
import { parseAs } from '../../platform/parse-as.ts';
import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { renderText, utf16Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

/** Without `parse_mode` no markup acts, but names after "@" are still mentioned. */
const escapeText = (text: string) => text.replaceAll('@', '@\u200b');
const TEXT = { maxLength: 4_096, lengthOf: utf16Length, escape: escapeText };
const TooMany = Type.Object({ parameters: Type.Object({ retry_after: Type.Number() }) });

export function sendTelegram(
  { server, chat }: { server: string; chat: string },
  { secret, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const url = `${server.replace(/\/+$/, '')}/bot${secret}/sendMessage`;
  const text = renderText(message, TEXT);
  const body = JSON.stringify({ chat_id: chat, text, link_preview_options: { is_disabled: true } });
  return sendJson({ url, body, secrets: [secret], waitMsOf }, deps);
}

function waitMsOf(answer: string): number | null {
  const seconds = parseAs(TooMany, answer)?.parameters.retry_after;
  return seconds === undefined ? null : seconds * 1_000;
}
