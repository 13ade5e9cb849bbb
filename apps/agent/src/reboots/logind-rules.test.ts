import { describe, expect, test } from 'vitest';
import { judgeBlockers } from './blocker-rules.ts';
import { wordsOfBus } from './bus-words.ts';
import { parseInhibitors, parseSession, parseSessions, parseWho } from './logind-rules.ts';
import { isNeverRestarted, parseUnitState } from './unit-state.ts';

describe('the words of busctl', () => {
  test.each([
    ['s "user"\ns "active"\n', ['s', 'user', 's', 'active']],
    ['a(susso) 0\n', ['a(susso)', '0']],
    ['"a \\"b\\" \\\\" u', ['a "b" \\', 'u']],
    ['"M\\303\\274ller\\n\\x"', ['Müller\nx']],
    ['', []],
    ['"no end', null],
    ['"an escape at the end\\', null],
  ])('%j', (text, words) => {
    expect(wordsOfBus(text)).toEqual(words);
  });
});

describe('what logind says', () => {
  // As systemd 252 prints it.
  const SESSIONS =
    'a(susso) 2 "3" 1000 "ada" "seat0" "/org/freedesktop/login1/session/_33" "c1" 113 "gdm" "" "/x"\n';

  test('sessions by path and user', () => {
    expect(parseSessions(SESSIONS)).toEqual([
      { path: '/org/freedesktop/login1/session/_33', user: 'ada' },
      { path: '/x', user: 'gdm' },
    ]);
    expect(parseSessions('a(susso) 0\n')).toEqual([]);
  });

  test.each(['', 'a(susso)', 'a(susso) 1 "3"', 'a(susso) x', 'as 0', SESSIONS.replace(' 2 ', ' 1 ')])(
    '%j is no list of sessions',
    (text) => {
      expect(parseSessions(text)).toBeNull();
    },
  );

  test('inhibitors that block a shutdown', () => {
    const text = `a(ssssuu) 4 "shutdown:sleep" "back\\033up" "runs" "block" 0 7 "sleep" "a" "b" "block" 0 8
 "shutdown" "c" "d" "delay" 0 9 "shutdown" "e" "f" "block-weak" 1000 10\n`;
    expect(parseInhibitors(text)).toEqual([
      { who: 'back\ufffdup', why: 'runs' },
      { who: 'e', why: 'f' },
    ]);
    expect(parseInhibitors('a(ssssuu) 1 "shutdown"')).toBeNull();
  });

  test.each([
    ['user', 'active', 'person'],
    ['user', 'online', 'person'],
    ['user-early', 'active', 'person'],
    ['user', 'closing', 'other'],
    ['greeter', 'active', 'other'],
    ['lock-screen', 'active', 'other'],
    ['background', 'active', 'other'],
    ['manager', 'active', 'other'],
  ])('a session of class %s that is %s: %s', (kind, state, said) => {
    expect(parseSession(`s "${kind}"\ns "${state}"\n`)).toBe(said);
  });

  test.each(['', 's "user"', 'b true\ns "active"', 's "user"\ns "active"\ns "more"'])(
    '%j: unknown',
    (text) => {
      expect(parseSession(text)).toBeNull();
    },
  );

  test('who names each user once', () => {
    expect(parseWho('root pts/0 2026\nada  tty2 2026\nroot pts/1 2026\n')).toEqual(['root', 'ada']);
    expect(parseWho('')).toEqual([]);
  });
});

describe('blockers', () => {
  const IDLE = { people: [], inhibitors: [], packageManagers: [], hasOtherJob: false };
  const FREE = { users: [], ignoredInhibitors: [] };
  test.each([
    ['nothing', {}, false, {}, []],
    ['people who were not warned', { people: ['ada'] }, false, {}, ['user ada']],
    ['people who were warned', { people: ['ada'] }, true, {}, []],
    ['warned people whom root names', { people: ['ada', 'bob'] }, true, { users: ['bob'] }, ['user bob']],
    ['warned people where root names all', { people: ['ada'] }, true, { users: ['*'] }, ['user ada']],
    ['an inhibitor', { inhibitors: [{ who: 'x', why: 'y' }] }, true, {}, ['inhibitor x: y']],
    [
      'one that root ignores',
      { inhibitors: [{ who: 'x', why: 'y' }] },
      true,
      { ignoredInhibitors: ['x'] },
      [],
    ],
    ['a package manager', { packageManagers: ['dpkg'] }, true, {}, ['package_manager dpkg']],
    ['another job', { hasOtherJob: true }, true, {}, ['other another job of the executor']],
    ['unknown people, even with a warning', { people: { unknown: 'p' } }, true, {}, ['other p']],
    ['unknown inhibitors', { inhibitors: { unknown: 'i' } }, true, { ignoredInhibitors: ['*'] }, ['other i']],
    [
      'many: as many as a result names',
      { people: Array(99).fill('ada') },
      false,
      {},
      Array(20).fill('user ada'),
    ],
  ])('%s', (_, busy, isWarned, policy, blockers) => {
    const judged = judgeBlockers({ ...IDLE, ...busy }, { isWarned, policy: { ...FREE, ...policy } });
    expect(judged.map(({ kind, name }) => `${kind} ${name}`)).toEqual(blockers);
  });
});

test.each([
  ['getty@tty1.service', true],
  ['serial-getty@ttyS0.service', true],
  ['user@0.service', true],
  ['tidegate-executor.service', true],
  ['tidegate-agent.service', false],
  ['usermin.service', false],
  ['nginx.service', false],
])('%s is never restarted by a command: %s', (unit, said) => {
  expect(isNeverRestarted(unit)).toBe(said);
});

test('a unit is read from what systemctl shows', () => {
  expect(parseUnitState('ActiveState=active\nInvocationID=abc\n')).toEqual({
    active: 'active',
    invocation: 'abc',
  });
  expect(parseUnitState('InvocationID=\nActiveState=inactive\n')).toEqual({
    active: 'inactive',
    invocation: '',
  });
  expect(parseUnitState('ActiveState=active\n')).toBeNull();
});
