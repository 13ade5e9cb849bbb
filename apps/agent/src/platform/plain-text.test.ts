import { array, assert, constantFrom, integer, oneof, property, string, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPlainText, plainEnd, plainStart } from './plain-text.ts';

function plain(...parts: readonly (Uint8Array | string)[]): string {
  const text = createPlainText();
  return parts.map((part) => text.add(Buffer.from(part))).join('') + text.end();
}

describe('what a package manager writes, as plain text', () => {
  test.each([
    ['lines stay as they are', 'Setting up demo (1.1-1)\tok\r\n', 'Setting up demo (1.1-1)\tok\r\n'],
    ['colours are dropped', '\x1b[1;31mE:\x1b[0m no\n', 'E: no\n'],
    ['so are they by one character', '\x9b31mred\x9bm', 'red'],
    ['and titles of a window', '\x1b]0;a title\x07here \x1b]8;;x\x1b\\link', 'here link'],
    ['and short escapes', '\x1b(B\x1b7a\x1bMb', 'ab'],
    ['and other control characters', 'a\x00b\x08c\x7fd\x85e\x0cf', 'abcdef'],
    ['a title without an end hides no more than its line', '\x1b]0;a title\nnext\n', '\nnext\n'],
    ['a sequence without an end hides no letter of another script', '\x1b[12é', 'é'],
    ['text that runs backwards is marked', 'a\u202eb\u2066c', 'a\ufffdb\ufffdc'],
    ['a BOM stays text', '\ufeffa', '\ufeffa'],
  ])('%s', (_, said, shown) => {
    expect(plain(said)).toBe(shown);
  });

  test('invalid UTF-8 is marked, and a character that is cut off at the end as well', () => {
    expect(plain(Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82))).toBe('a\ufffdb\ufffd');
  });

  test('a part of it is never half of a character', () => {
    expect([plainStart('a\0😀b', 2), plainEnd('a😀\0b', 2)]).toEqual(['a\ufffd', '\ufffdb']);
    expect(plainEnd('short', 100)).toBe('short');
  });

  const pieces = array(
    oneof(
      uint8Array({ maxLength: 8 }),
      string({ unit: 'binary', maxLength: 8 }),
      constantFrom('\x1b[', '\x1b]', '\n'),
    ),
    { maxLength: 12 },
  );

  test('it makes no difference where the bytes are cut', () => {
    assert(
      property(pieces, integer({ min: 1, max: 5 }), (parts, size) => {
        const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
        const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        );
        expect(plain(...cut)).toBe(plain(bytes));
      }),
    );
  });

  test('whatever is written, nothing is left that a terminal would obey', () => {
    assert(
      property(pieces, (parts) => {
        const shown = plain(...parts);
        expect(shown.isWellFormed()).toBe(true);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
        expect(shown).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
      }),
    );
  });
});
