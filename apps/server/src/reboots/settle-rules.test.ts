import { expect, test } from 'vitest';
import { PROVING_MAX_MS, type Settlement, type SlotFacts, settle } from './settle-rules.ts';

const NOW_MS = Date.parse('2026-11-21T09:00:00Z');
const MINUTE_MS = 60_000;
const COMMAND: NonNullable<SlotFacts['command']> = {
  ...{ status: 'running', reason: null, isSent: true, endsAtMs: NOW_MS + MINUTE_MS },
};
const TAKEN_AT_MS = NOW_MS - 30 * MINUTE_MS;
const FACTS: SlotFacts = {
  ...{ nowMs: NOW_MS, couldReport: true },
  slot: { bootId: 'old', takenAtMs: TAKEN_AT_MS, endsAtMs: NOW_MS + 10 * MINUTE_MS, backAtMs: null },
  command: COMMAND,
  host: { bootId: 'old', uptimeSeconds: 900, lastSeenMs: NOW_MS - MINUTE_MS },
  probes: { state: 'green', atMs: NOW_MS },
};
const ends = (status: NonNullable<SlotFacts['command']>['status'], isSent = true) => ({
  command: { ...COMMAND, status, isSent, endsAtMs: NOW_MS - 10 * MINUTE_MS },
});
const over = { slot: { ...FACTS.slot, endsAtMs: NOW_MS } };
const back = (endsAtMs: number) => ({
  slot: { bootId: 'old', takenAtMs: TAKEN_AT_MS, endsAtMs, backAtMs: NOW_MS - 2 * MINUTE_MS },
  host: { bootId: 'new', uptimeSeconds: 60, lastSeenMs: NOW_MS },
});
const proving = back(NOW_MS + MINUTE_MS);
const proved = back(NOW_MS);
const seen = (state: SlotFacts['probes']['state'], minutesAgo: number) => ({
  probes: { state, atMs: NOW_MS - minutesAgo * MINUTE_MS },
});

test.each<[string, Partial<SlotFacts>, Settlement['kind'], string?]>([
  ['a command under way', {}, 'wait'],
  ['a command under way at the end', over, 'fail', 'it did not come back'],
  ['the same, after a pause of the server', { ...over, couldReport: false }, 'wait'],
  ['a success in the same boot proves nothing', ends('success'), 'wait'],
  ['a success in the same boot, at the end', { ...ends('success'), ...over }, 'fail', 'it did not come back'],
  ['a refusal', ends('refused'), 'end', 'not_rebooted'],
  ['an interruption before the reboot', ends('interrupted'), 'end', 'not_rebooted'],
  ['a failure', ends('failed'), 'fail', 'the reboot failed'],
  ['no command any more', { command: null }, 'wait'],
  ['cancelled before it was sent', ends('cancelled', false), 'end', 'not_rebooted'],
  ['cancelled, and the host is seen after its end', ends('cancelled'), 'end', 'not_rebooted'],
  ['expired, and the host is seen after its end', ends('expired'), 'end', 'not_rebooted'],
  [
    'expired, and the host was seen within the skew of clocks alone',
    { ...ends('expired'), host: { ...FACTS.host, lastSeenMs: NOW_MS - 5 * MINUTE_MS } },
    'wait',
  ],
  [
    'cancelled, and the host is silent until the end',
    { ...ends('cancelled'), ...over, host: { ...FACTS.host, lastSeenMs: NOW_MS - 20 * MINUTE_MS } },
    'fail',
    'it did not come back',
  ],
  ['another boot', { host: { bootId: 'new', uptimeSeconds: 60, lastSeenMs: NOW_MS } }, 'back'],
  ['another boot after a refusal', { ...ends('refused'), host: proving.host }, 'back'],
  ['green after the boot', { ...proving, ...seen('green', 1) }, 'end', 'well'],
  ['no probes named, after the boot', { ...proving, ...seen('none', 1) }, 'end', 'well'],
  ['green before the boot', { ...proving, ...seen('green', 3) }, 'wait'],
  ['none before the boot', { ...proving, ...seen('none', 3) }, 'wait'],
  ['red, and there is time', { ...proving, ...seen('red', 1) }, 'wait'],
  ['red at the end', { ...proved, ...seen('red', 1) }, 'fail', 'it is back, and its probes are red'],
  [
    'unknown is not well',
    { ...proved, ...seen('unknown', 1) },
    'fail',
    'it is back, and its probes are unknown',
  ],
  ['green before the boot alone, at the end', { ...proved, ...seen('green', 3) }, 'fail', 'has not reported'],
  [
    'red at the end, after a pause of the server',
    { ...proved, ...seen('red', 1), couldReport: false },
    'wait',
  ],
  ['green at the end', { ...proved, ...seen('green', 1) }, 'end', 'well'],
])('%s', (_, change, kind, word) => {
  const said = settle({ ...FACTS, ...change });
  expect(said.kind).toBe(kind);
  if (word !== undefined) expect(JSON.stringify(said)).toContain(word);
});

test('looks at the probes count from the boot that the host reports, and have to be well in time', () => {
  const host = { bootId: 'new', uptimeSeconds: 90, lastSeenMs: NOW_MS };
  expect(settle({ ...FACTS, host })).toEqual({
    ...{ kind: 'back', backAtMs: NOW_MS - 90_000, endsAtMs: NOW_MS + PROVING_MAX_MS },
  });
});

test('looks at the probes count from now where a clock that was ahead has given the slot', () => {
  const host = { bootId: 'new', uptimeSeconds: 90, lastSeenMs: NOW_MS };
  const slot = { ...FACTS.slot, takenAtMs: NOW_MS + 86_400_000, endsAtMs: NOW_MS + 90_000_000 };
  expect(settle({ ...FACTS, slot, host })).toMatchObject({ kind: 'back', backAtMs: NOW_MS });
});

test('a host cannot move its boot to before its slot, so no earlier look proves it', () => {
  const host = { bootId: 'new', uptimeSeconds: Number.MAX_SAFE_INTEGER, lastSeenMs: NOW_MS };
  expect(settle({ ...FACTS, host })).toMatchObject({ kind: 'back', backAtMs: TAKEN_AT_MS });
});
