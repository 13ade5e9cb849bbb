import { counted } from '@tidegate/protocol/count-words';
import { SEVERITIES, type Severity } from '@tidegate/protocol/event-types';
import { expect, test } from 'vitest';
import { countedEvents } from './count-words.ts';

test.each<[string, Partial<Record<Severity, number>>]>([
  ['0 events', {}],
  ['1 warning', { warning: 1 }],
  ['25 warnings', { warning: 25 }],
  ['1 error', { error: 1 }],
  ['2 critical events', { critical: 2 }],
  ['1,200 events', { info: 1_200 }],
  ['25 events: 3 critical, 22 warnings', { warning: 22, critical: 3 }],
  [
    '4 events: 1 critical, 1 error, 1 warning, 1 for information',
    { info: 1, warning: 1, error: 1, critical: 1 },
  ],
])('%s', (expected, counts) => {
  const severities = SEVERITIES.flatMap((one) => Array<Severity>(counts[one] ?? 0).fill(one));
  expect(countedEvents(severities)).toBe(expected);
});

test.each([
  [0, '0 updates wait'],
  [1, '1 update waits'],
  [1_234, '1,234 updates wait'],
])('%i: %s', (count, expected) => {
  expect(counted(count, 'update waits', 'updates wait')).toBe(expected);
});
