import type { Schedule } from '@tidegate/protocol/windows-api';
import { expect, test } from 'vitest';
import { agendaOf } from './agenda.ts';

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const daily = (start: string): Schedule => ({
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-01-01', start, zone: 'UTC', duration_minutes: 60 },
});
const ALWAYS = { sinceMs: 0, untilMs: Infinity };
const FREEZE = {
  ...ALWAYS,
  id: 'f',
  name: 'Freeze',
  times: { kind: 'once', starts_at: '2026-11-24T12:00:00Z', ends_at: '2026-11-26T12:00:00Z' },
} as const;
const weekly = {
  ...ALWAYS,
  id: 'h',
  name: 'Hours',
  times: { kind: 'recurring', schedule: daily('09:00') },
} as const;

const nightly = (change: { sinceMs?: number; untilMs?: number; windows?: Schedule[] } = {}) => ({
  ...{ ...ALWAYS, id: 'n', name: 'Nightly', windows: [daily('22:00')] },
  ...change,
});

test('windows and blackouts stand in order of their starts, those that have begun first', async () => {
  const policies = [nightly({ untilMs: at('26T00:00') })];
  const range = { fromMs: at('24T22:30'), toMs: at('26T23:00') };
  const said = (await agendaOf({ policies, blackouts: [FREEZE, weekly] }, range)).map(
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
])('a blackout %s', async (_, from, to, count) => {
  const range = { fromMs: at(from), toMs: at(to) };
  expect(await agendaOf({ policies: [], blackouts: [FREEZE] }, range)).toHaveLength(count);
});

test('what was in force for a part of the time has its openings in it, cut where it ended', async () => {
  const range = { fromMs: at('20T00:00'), toMs: at('30T00:00') };
  const said = async (parts: Parameters<typeof agendaOf>[0]) =>
    (await agendaOf(parts, range)).map(({ startMs, endMs }) =>
      [startMs, endMs].map((ms) => new Date(ms).toISOString().slice(8, 16)).join(' to '),
    );
  const policy = nightly({ sinceMs: at('24T12:00'), untilMs: at('25T22:30') });
  expect(await said({ policies: [policy], blackouts: [] })).toEqual([
    '24T22:00 to 24T23:00',
    '25T22:00 to 25T22:30',
  ]);
  const lifted = { ...FREEZE, untilMs: at('25T06:00') };
  expect(await said({ policies: [], blackouts: [lifted] })).toEqual(['24T12:00 to 25T06:00']);
  // One that was lifted before it began withheld nothing.
  expect(await said({ policies: [], blackouts: [{ ...FREEZE, untilMs: at('24T06:00') }] })).toEqual([]);
});

test('a window during which its policy was changed is one entry, with the end of the later version', async () => {
  const longer = { ...daily('22:00'), duration_minutes: 120 };
  const policies = [
    nightly({ untilMs: at('24T22:30') }),
    nightly({ sinceMs: at('24T22:30'), windows: [longer] }),
  ];
  const entries = await agendaOf(
    { policies, blackouts: [] },
    { fromMs: at('24T00:00'), toMs: at('25T00:00') },
  );
  expect(entries.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([[at('24T22:00'), at('25T00:00')]]);
});

test('a schedule that began in 1970 has the same entries as one that began this year', async () => {
  const range = { fromMs: at('01T00:00'), toMs: at('30T00:00') };
  const old = nightly({ windows: [{ ...daily('22:00'), starts_on: '1970-01-01' }] });
  expect(await agendaOf({ policies: [old], blackouts: [] }, range)).toEqual(
    await agendaOf({ policies: [nightly()], blackouts: [] }, range),
  );
});
