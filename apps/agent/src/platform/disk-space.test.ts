import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { lackOfSpace } from './disk-space.ts';

test('what does not fit is named with both sizes', () => {
  using dir = tmpDir();
  expect(lackOfSpace(dir.path, 0)).toBeNull();
  expect(lackOfSpace(dir.path, 2 ** 52)).toMatch(/^needs 4294967296 MiB on .*, which has \d+ MiB$/);
});
