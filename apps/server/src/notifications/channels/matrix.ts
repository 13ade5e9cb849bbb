import { Type } from 'typebox';
import { parseAs } from '../../platform/parse-as.ts';
import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { asIs, renderText, utf8Length } from './render-message.ts';
import { sendJson } from './send-json.ts';

/** An event of Matrix has at most 65,536 bytes. */
const TEXT = { maxLength: 32_000, lengthOf: utf8Length, escape: asIs };
const LimitExceeded = Type.Object({ retry_after_ms: Type.Number() });

/** The message's id is the transaction's: the homeserver takes a repeated delivery once. */
export function sendMatrix(
  { server, room }: { server: string; room: string },
  { secret, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const path = `_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${message.id}`;
  const url = `${server.replace(/\/+$/, '')}/${path}`;
  // Without `formatted_body` the text is plain, and empty `m.mentions` notify nobody by name.
  const body = JSON.stringify({ msgtype: 'm.text', body: renderText(message, TEXT), 'm.mentions': {} });
  const headers = { authorization: `Bearer ${secret}` };
  return sendJson({ url, method: 'PUT', headers, body, secrets: [secret], waitMsOf }, deps);
}

function waitMsOf(answer: string): number | null {
  return parseAs(LimitExceeded, answer)?.retry_after_ms ?? null;
}
