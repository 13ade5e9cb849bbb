import { expect, onTestFinished, test, vi } from 'vitest';
import { relativeTime } from '../ui/relative-time-rules.ts';
import { noteServerTime, serverNow } from './server-time.ts';

test('a browser whose clock is five minutes slow still shows what has just happened as past', () => {
  const happenedMs = Date.now() + 5 * 60_000 + 40_000 - 41_000;
  expect(relativeTime(happenedMs, serverNow())).toBe('in 4 min');
  noteServerTime(new Date(Date.now() + 5 * 60_000).toUTCString());
  expect(relativeTime(happenedMs, serverNow())).toBe('just now');
});

test('an answer without a date changes nothing', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const before = serverNow();
  for (const date of [null, '', 'soon']) noteServerTime(date);
  expect(serverNow()).toBe(before);
});
