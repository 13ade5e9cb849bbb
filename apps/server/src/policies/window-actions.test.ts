import { WINDOW_ACTIONS, type WindowAction } from '@tidegate/protocol/policies-api';
import { describe, expect, test } from 'vitest';
import { lastOpening, nextWindows, openBesides, untilOf, windowOf } from './policy-windows.ts';
import { actionsFault, actionsOf, allowsAction, type FollowUps, type Windowed } from './window-actions.ts';

type Actions = readonly WindowAction[] | undefined;

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const daily = (start: string, actions?: Actions): Windowed['windows'][number] => ({
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-01-01', start, zone: 'UTC', duration_minutes: 60 },
  ...(actions && { actions: [...actions] }),
});
const REBOOTS = { reboot: { when: 'needed', warn_minutes: 0 } } as const;
const RESTARTS = { restart_services: 'needed' } as const;
const BOTH = { ...REBOOTS, ...RESTARTS };
const policy = (lists: readonly Actions[], asked: FollowUps = {}): Windowed => ({
  windows: lists.map((actions) => daily('22:00', actions)),
  ...asked,
});

test.each<[Actions, WindowAction[]]>([
  [undefined, ['install', 'reboot', 'restart_services']],
  [['install'], ['install']],
  [['reboot'], ['reboot']],
  [
    ['reboot', 'install'],
    ['install', 'reboot'],
  ],
  [
    ['restart_services', 'update_agent'],
    ['restart_services', 'update_agent'],
  ],
])('a window of %j allows %j and nothing else', (actions, allowed) => {
  const window = daily('22:00', actions);
  expect(WINDOW_ACTIONS.filter((one) => allowsAction(window, one)).toSorted()).toEqual(allowed);
});

test('a window says nothing of what its policy does not ask for', () => {
  expect(actionsOf({}, {})).toEqual(['install']);
  expect(actionsOf({}, { reboot: { when: 'never', warn_minutes: 0 } })).toEqual(['install']);
  expect(actionsOf({}, REBOOTS)).toEqual(['install', 'reboot']);
  expect(actionsOf({ actions: ['reboot'] }, REBOOTS)).toEqual(['reboot']);
  expect(actionsOf({}, { restart_services: 'never' })).toEqual(['install']);
  expect(actionsOf({}, RESTARTS)).toEqual(['install', 'restart_services']);
  expect(actionsOf({}, { ...REBOOTS, ...RESTARTS })).toEqual(['install', 'restart_services', 'reboot']);
});

describe('windows must not promise what would never happen', () => {
  test.each<[string, Windowed, string | null, RegExp | null]>([
    ['no windows', policy([], REBOOTS), null, null],
    ['one that does not say it', policy([undefined]), null, null],
    ['one that does not say it, and reboots', policy([undefined], REBOOTS), null, null],
    ['one for each', policy([['install'], ['reboot']], REBOOTS), null, null],
    ['one for both', policy([['install', 'reboot']], REBOOTS), null, null],
    ['one for each of three', policy([['install'], ['restart_services', 'reboot']], BOTH), null, null],
    [
      'restarts of services of a policy that asks for none',
      policy([['install', 'restart_services']], REBOOTS),
      '/windows/0/actions',
      /no restarts of services/,
    ],
    [
      'restarts of services without a window for them',
      policy([['install', 'reboot']], BOTH),
      '/windows',
      /never restart/,
    ],
    [
      'updates of the agent',
      policy([undefined, ['update_agent']]),
      '/windows/1/actions',
      /no policy updates/,
    ],
    [
      'reboots of a policy that asks for none',
      policy([['install'], ['reboot']]),
      '/windows/1/actions',
      /no reboots/,
    ],
    [
      'a catch-up of a window that is not for installing',
      { windows: [daily('20:00'), { ...daily('22:00', ['reboot']), catch_up_hours: 3 }], ...REBOOTS },
      '/windows/1/catch_up_hours',
      /not for installing/,
    ],
    ['only for reboots', policy([['reboot']], REBOOTS), '/windows', /never install/],
    [
      'reboots without a window for them',
      policy([['install'], ['install']], REBOOTS),
      '/windows',
      /never reboot/,
    ],
  ])('%s', (_, asked, path, message) => {
    const fault = actionsFault(asked);
    expect(fault?.path ?? null).toBe(path);
    if (message) expect(fault?.message).toMatch(message);
  });
});

describe('each action has its own windows', () => {
  const asked: Windowed = {
    windows: [daily('20:00', ['install']), daily('20:30', ['reboot']), daily('22:00')],
    ...REBOOTS,
  };

  test.each<[string, WindowAction, string | null]>([
    ['24T19:59', 'install', null],
    ['24T20:00', 'install', '24T20:55'],
    ['24T20:00', 'reboot', null],
    ['24T20:30', 'install', '24T20:55'],
    ['24T20:30', 'reboot', '24T21:25'],
    ['24T21:10', 'install', null],
    ['24T21:10', 'reboot', '24T21:25'],
    ['24T22:10', 'install', '24T22:55'],
    ['24T22:10', 'reboot', '24T22:55'],
    ['24T22:10', 'restart_services', '24T22:55'],
    ['24T21:10', 'restart_services', null],
    ['24T22:10', 'update_agent', null],
  ])('%s %s until %s', (now, action, until) => {
    const window = windowOf(asked, action, at(now));
    expect(window.kind === 'open' ? window.until.notAfterMs : null).toBe(until === null ? null : at(until));
  });

  test('without windows, all are always open', () => {
    for (const action of WINDOW_ACTIONS)
      expect(windowOf({ windows: [] }, action, at('24T20:00'))).toEqual({ kind: 'always' });
  });

  test('the next ones are found for one action or for all, with what they are for', () => {
    const said = (action?: WindowAction) =>
      nextWindows(asked, at('24T20:10'), action)
        .slice(0, 2)
        .map(({ startMs, actions }) => [startMs, actions]);
    expect(said()).toEqual([
      [at('24T20:30'), ['reboot']],
      [at('24T22:00'), ['install', 'reboot']],
    ]);
    expect(said('install')).toEqual([
      [at('24T22:00'), ['install', 'reboot']],
      [at('25T20:00'), ['install']],
    ]);
    expect(openBesides(asked, at('24T20:40'))).toMatchObject([
      { startMs: at('24T20:30'), actions: ['reboot'] },
    ]);
    expect(openBesides(asked, at('24T22:10'))).toEqual([]);
  });
});

describe('hosts that missed a window are caught up', () => {
  const asked: Windowed = {
    windows: [
      { ...daily('20:00', ['install']), catch_up_hours: 2 },
      { ...daily('20:30'), catch_up_hours: 1 },
      daily('22:30'),
    ],
    ...REBOOTS,
  };

  test.each<[string, WindowAction, string, string]>([
    ['24T20:00', 'install', 'open', '24T20:55'],
    ['24T20:54', 'install', 'open', '24T21:25'],
    ['24T21:24', 'install', 'open', '24T21:25'],
    ['24T21:25', 'install', 'catch_up', '24T22:55'],
    ['24T22:29', 'install', 'catch_up', '24T22:55'],
    ['24T22:30', 'install', 'open', '24T23:25'],
    ['24T23:25', 'install', 'closed', '24T00:00'],
    ['24T21:25', 'reboot', 'closed', '24T00:00'],
    ['24T19:59', 'install', 'closed', '24T00:00'],
  ])('%s %s %s until %s', (now, action, kind, until) => {
    const window = windowOf(asked, action, at(now));
    expect(window.kind).toBe(kind);
    if ('until' in window) expect(window.until.notAfterMs).toBe(at(until));
    else expect(untilOf(window)?.notAfterMs).toBe(0);
  });

  test('the end is exact, and half of the catch-up is left to hosts that are slow', () => {
    const once: Windowed = { windows: [{ ...daily('20:00'), rrule: null, catch_up_hours: 2 }] };
    const on = (time: string) => windowOf(once, 'install', Date.parse(`2026-01-01T${time}Z`));
    expect(on('20:54:59.999').kind).toBe('open');
    expect(on('20:55:00')).toMatchObject({ kind: 'catch_up', until: { lengthMs: 7_200_000 } });
    expect(on('22:54:59.999').kind).toBe('catch_up');
    expect(on('22:55:00').kind).toBe('closed');
  });

  test('the last opening is one that has closed, of those for installing', () => {
    const closed = (now: string) => lastOpening(asked, at(now))?.startMs;
    expect(closed('24T20:40')).toBe(at('23T22:30'));
    expect(closed('24T20:55')).toBe(at('24T20:00'));
    expect(closed('24T21:25')).toBe(at('24T20:30'));
    const reboots: Windowed = { windows: [daily('20:00', ['reboot'])], ...REBOOTS };
    expect(lastOpening(reboots, at('24T21:10'))).toBeNull();
  });
});
