import { expect, test } from 'vitest';
import { MESSAGE_MAX_BYTES, readMessage } from './message.ts';
import { newKey } from './page-script.ts';

const KEY = newKey();
const DOCUMENT = 'd'.repeat(32);

test('a message has the key of its webview, the name of its document, and a body', () => {
  expect(readMessage(`${KEY}${DOCUMENT}{}`, KEY)).toEqual({ ok: true, document: DOCUMENT, body: '{}' });
  expect(readMessage(KEY + DOCUMENT, KEY)).toEqual({ ok: true, document: DOCUMENT, body: '' });
});

test.each([
  ['another key', newKey() + DOCUMENT],
  ['a key that is cut', KEY.slice(1)],
  ['nothing', ''],
  ['no name of a document', `${KEY}${'?'.repeat(32)}{}`],
  ['a key of as many characters and more bytes', 'ä'.repeat(32) + DOCUMENT],
])('with %s it is dropped', (_, text) => {
  expect(readMessage(text, KEY)).toEqual({ ok: false, cause: 'wrong_key' });
});

test('a message that is too large is dropped before it is read', () => {
  const text = KEY + DOCUMENT + 'x'.repeat(MESSAGE_MAX_BYTES);
  expect(readMessage(text, KEY)).toEqual({ ok: false, cause: 'too_large' });
});
