import { expect, test } from 'vitest';
import { preAuthenticationEncoding } from './dsse.ts';

test.each([
  ['http://example.com/HelloWorld', 'hello world', 'DSSEv1 29 http://example.com/HelloWorld 11 hello world'],
  ['', '', 'DSSEv1 0  0 '],
  ['\u00e9', '\u{1F40B}', 'DSSEv1 2 \u00e9 4 \u{1F40B}'],
])('DSSE v1 encodes type %j and body %j with lengths in bytes', (type, body, encoded) => {
  const encode = (text: string) => new TextEncoder().encode(text);
  expect(preAuthenticationEncoding(type, encode(body))).toEqual(encode(encoded));
});
