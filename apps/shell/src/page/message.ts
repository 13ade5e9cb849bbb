import { timingSafeEqual } from 'node:crypto';

const KEY_LENGTH = 32;
const DOCUMENT_LENGTH = 32;
const DOCUMENT = /^[0-9a-f]{32}$/;
/** The longest message of a page: the largest body that the server accepts (1 MiB), escaped, with some room. */
export const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;

/** A message of the bridge: its key, the name of its document, and a body; an empty body announces a new document. */
export type PageMessage =
  | { readonly ok: true; readonly document: string; readonly body: string }
  | { readonly ok: false; readonly cause: 'wrong_key' | 'too_large' };

/** Reads a message that arrived at the object of one webview; nothing in it is trusted before the key is verified. */
export function readMessage(text: string, key: string): PageMessage {
  if (Buffer.byteLength(text) > MESSAGE_MAX_BYTES) return { ok: false, cause: 'too_large' };
  const given = Buffer.from(text.slice(0, KEY_LENGTH));
  const wanted = Buffer.from(key);
  const document = text.slice(KEY_LENGTH, KEY_LENGTH + DOCUMENT_LENGTH);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted) || !DOCUMENT.test(document))
    return { ok: false, cause: 'wrong_key' };
  return { ok: true, document, body: text.slice(KEY_LENGTH + DOCUMENT_LENGTH) };
}
