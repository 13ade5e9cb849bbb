import { PNG } from 'pngjs';
import { expect, test } from 'vitest';
import { isBlank } from './take.ts';

test('a picture of one colour is blank, and one pixel is enough not to be', () => {
  const image = new PNG({ width: 20, height: 10 });
  image.data.fill(0xf7);
  expect(isBlank(image)).toBe(true);
  image.data.writeUInt8(0, image.data.length - 2);
  expect(isBlank(image)).toBe(false);
});
