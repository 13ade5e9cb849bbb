import { expect, test } from 'vitest';
import { isAttended, watchInputs } from './activity.ts';

test('a page is attended for a minute after each input', () => {
  const page = new EventTarget();
  const stop = watchInputs(page);
  const nowMs = Date.now();
  expect(isAttended(nowMs)).toBe(true);
  expect(isAttended(nowMs + 61_000)).toBe(false);
  page.dispatchEvent(new Event('keydown'));
  expect(isAttended()).toBe(true);
  stop();
});
