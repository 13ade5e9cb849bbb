import { describe, expect, test } from 'vitest';
import { heldCellText, heldText, securityHeldText, shareText } from './held-rules.ts';

describe('the share that is done', () => {
  test.each([
    [120, 120, '100 %'],
    [119, 120, '99 %'],
    [99_999, 100_000, '99 %'],
    [0, 3, '0 %'],
    [0, 0, '0 of 0'],
    // Counted a moment later than the whole.
    [4, 3, '100 %'],
  ])('%i of %i is %s', (done, total, text) => {
    expect(shareText(done, total)).toBe(text);
  });
});

describe('what is held', () => {
  const held = (updates: number, first: string | null, last = first) =>
    heldText({ updates, first_end: first, last_end: last });

  test('names its count and its end', () => {
    expect(held(3, '2027-03-01T00:00:00.000Z')).toBe('3 updates held until 1 March 2027');
    expect(held(1_200, '2027-02-28T23:59:59.000Z')).toBe('1,200 updates held until 28 February 2027');
    expect(held(1, '2027-02-28T23:59:59.000Z')).toBe('1 update held until 28 February 2027');
  });

  test('names the first and the last end if they are on different days', () => {
    expect(held(3, '2026-12-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z')).toBe(
      '3 updates held, the first until 1 December 2026, the last until 1 March 2027',
    );
    expect(held(2, '2027-03-01T00:00:00.000Z', '2027-03-01T23:59:59.000Z')).toBe(
      '2 updates held until 1 March 2027',
    );
  });

  test.each([
    [0, null, null, 'none'],
    [3, '2027-03-01T00:00:00.000Z', '2027-03-01T23:59:59.000Z', '3 until 1 Mar 2027'],
    [1_200, '2026-12-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z', '1,200 until 1 Dec 2026 to 1 Mar 2027'],
  ])('%i from %s to %s is %s in a list', (updates, first, last, text) => {
    expect(heldCellText({ updates, security_updates: 0, first_end: first, last_end: last })).toBe(text);
  });

  test('is empty if nothing is', () => {
    expect([held(0, null), securityHeldText({ security_updates: 0 })]).toEqual(['', '']);
  });

  test('names security updates apart', () => {
    expect(securityHeldText({ security_updates: 1 })).toBe('1 of them is a security update.');
    expect(securityHeldText({ security_updates: 4 })).toBe('4 of them are security updates.');
  });
});
