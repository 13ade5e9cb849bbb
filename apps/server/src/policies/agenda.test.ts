import type { Schedule } from '@tidegate/protocol/windows-api';
import { expect, test } from 'vitest';
import { agendaOf } from './agenda.ts';

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const daily = (start: string): Schedule => ({
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-01-01', start, zone: 'UTC', duration_minutes: 60 },
});
const FREEZE = {
  name: 'Freeze',
  times: { kind: 'once', starts_at: '2026-11-24T12:00:00Z', ends_at: '2026-11-26T12:00:00Z' },
} as const;
const weekly = { name: 'Hours', times: { kind: 'recurring', schedule: daily('09:00') } } as const;

test('windows and blackouts stand in order of their starts, those that have begun first', () => {
  const policies = [{ name: 'Nightly', windows: [daily('22:00')], endsAtMs: at('26T00:00') }];
  const range = { fromMs: at('24T22:30'), toMs: at('26T23:00') };
  const said = agendaOf({ policies, blackouts: [FREEZE, weekly] }, range).map(
    ({ kind, name, startMs }) => `${new Date(startMs).toISOString().slice(8, 16)} ${kind} ${name}`,
  );
  expect(said).toEqual([
    '24T12:00 blackout Freeze',
    '24T22:00 window Nightly',
    '25T09:00 blackout Hours',
    '25T22:00 window Nightly',
    // The policy has ended by the next night.
    '26T09:00 blackout Hours',
  ]);
});

test.each([
  ['that is over', '26T12:00', '27T00:00', 0],
  ['in its last minute', '26T11:59', '27T00:00', 1],
  ['that begins with the end of the range', '24T00:00', '24T12:00', 0],
])('a blackout %s', (_, from, to, count) => {
  expect(agendaOf({ policies: [], blackouts: [FREEZE] }, { fromMs: at(from), toMs: at(to) })).toHaveLength(
    count,
  );
});
