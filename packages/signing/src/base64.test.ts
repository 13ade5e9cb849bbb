import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Length, decodeBase64 } from './base64.ts';

test.each([
  ['', ''],
  ['f', 'Zg=='],
  ['f', 'Zg'],
  ['fo', 'Zm8='],
  ['fo', 'Zm8'],
  ['foo', 'Zm9v'],
  ['foobar', 'Zm9vYmFy'],
  ['\xfb\xff', '+/8='],
  ['\xfb\xff', '-_8='],
  ['\xfb\xff', '-_8'],
])('%j is read from %j, in either alphabet, padded or not (RFC 4648)', (plain, text) => {
  expect(decodeBase64(text)).toEqual(new Uint8Array(Buffer.from(plain, 'latin1')));
});

test.each([
  ['white space inside', 'Zm9v YmFy'],
  ['a line break at the end', 'Zm9v\n'],
  ['white space before', ' Zm9v'],
  ['mixed alphabets', '+_8='],
  ['mixed alphabets, unpadded', '-/8'],
  ['loose trailing bits, padded', 'Zh=='],
  ['loose trailing bits, unpadded', 'Zm9'],
  ['incomplete padding', 'Zg='],
  ['padding where none belongs', 'Zm9v='],
  ['padding only', '===='],
  ['too much padding', 'Z==='],
  ['padding in the middle', 'Zg==Zm8='],
  ['a lone digit', 'Z'],
  ['five digits', 'Zm9vY'],
  ['a digit outside ASCII', 'Zm9\u{FF36}'],
  ['a NUL', 'Zm9\0'],
  ['a percent escape', 'Zg%3D%3D'],
])('%s is refused', (_what, text) => {
  expect(decodeBase64(text)).toBeNull();
});

test('every byte string survives in all four spellings', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const padded = Buffer.from(bytes).toString('base64');
      const urlSafe = Buffer.from(bytes).toString('base64url');
      expect(padded.length).toBe(base64Length(bytes.length));
      for (const text of [
        padded,
        padded.replace(/=+$/, ''),
        urlSafe,
        padded.replace(/\+/g, '-').replace(/\//g, '_'),
      ]) {
        expect(decodeBase64(text)).toEqual(bytes);
      }
    }),
  );
});

test('an accepted text has one encoding per alphabet and padding', () => {
  const digit = fc.constantFrom(...'AQZgw019+/-_= ');
  fc.assert(
    fc.property(fc.array(digit, { maxLength: 9 }), (digits) => {
      const text = digits.join('');
      const bytes = decodeBase64(text);
      if (bytes === null) return;
      const padded = Buffer.from(bytes).toString('base64');
      const urlSafe = padded.replace(/\+/g, '-').replace(/\//g, '_');
      const unpadded = [padded, urlSafe].map((spelling) => spelling.replace(/=+$/, ''));
      expect([padded, urlSafe, ...unpadded]).toContain(text);
    }),
    { numRuns: 2000 },
  );
});
