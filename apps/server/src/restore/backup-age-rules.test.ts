import { expect, test } from 'vitest';
import { isBackupDue } from './backup-age-rules.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 9);

test.each([
  ['never, on the first day', null, 0.9, false],
  ['never, and a night has passed', null, 1, true],
  ['this night', 0.3, 400, false],
  ['a week and some hours ago: weekly ones are never late by hours', 7.9, 400, false],
  ['more than a week ago', 8, 400, true],
  ['in the future, as the clock was set back', -3, 400, false],
])('the last backup was %s', (_, daysAgo, fleetDays, isDue) => {
  const takenAtMs = daysAgo === null ? null : NOW - daysAgo * DAY_MS;
  expect(isBackupDue({ takenAtMs, fleetCreatedAtMs: NOW - fleetDays * DAY_MS, nowMs: NOW })).toBe(isDue);
});
