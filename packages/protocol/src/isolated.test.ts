import { expect, test } from 'vitest';
import { isolated, withMarksEscaped } from './isolated.ts';

test.each([
  ['a plain name', 'web-01.example', 'web-01.example'],
  ['letters of other scripts that are written from left to right', 'сервер-é-火', 'сервер-é-火'],
  ['Hebrew letters', 'שלום-1', '\u2068שלום-1\u2069'],
  ['Arabic letters', 'x مرحبا', '\u2068x مرحبا\u2069'],
  ['an override', 'gpj\u202eexe', '\u2068gpj\ufffdexe\u2069'],
  ['the end of an isolate that it did not begin', 'a\u2069b', '\u2068a\ufffdb\u2069'],
  ['an isolate without an end', 'a\u2068b', '\u2068a\u2068b\u2069\u2069'],
  ['a sentence with an isolated name', 'x \u2068שלום\u2069 y', '\u2068x \u2068שלום\u2069 y\u2069'],
])('%s', (_, text, shown) => {
  expect(isolated(text)).toBe(shown);
});

test('marks in JSON become escapes, which stand for the same text', () => {
  const name = 'gpj\u202eexe\u061c שלום';
  const shown = withMarksEscaped(JSON.stringify({ name }));
  expect(shown).toBe(String.raw`{"name":"gpj\u202eexe\u061c שלום"}`);
  expect(JSON.parse(shown)).toEqual({ name });
});
