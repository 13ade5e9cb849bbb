import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { servedPlaces } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';
import { STANDING } from '../testing/standing.ts';

const PASSWORD = 'correct horse battery';
const places = servedPlaces({
  async prepare(place) {
    const ran = await place.run(['operators', 'add', 'ada', '--role', 'admin'], { stdin: `${PASSWORD}\n` });
    expect(ran.err).toBe('');
  },
});
/** The clock of tests starts at 09:00 on 21 November. */
const FREEZE = ['freeze', 'Year end', '--from', '2026-11-22T00:00:00Z', '--until', '2026-12-24T00:00:00Z'];
const REASON = ['--reason', 'the shop earns its year'];

describe.each(SAMPLED_ENGINES)('tidegate windows on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const windows = (...words: string[]) => it.run(['windows', ...words]);
    const list = async (...words: string[]) => JSON.parse((await windows('list', '--json', ...words)).out);
    return { ...it, windows, list };
  }

  test('freeze says what it does, and with --dry-run only that', async () => {
    const it = await open();
    const dry = await it.windows(...FREEZE, ...REASON, '--dry-run');
    expect(dry).toMatchObject({ code: 0, err: '' });
    expect(dry.out).toBe(
      'Would freeze from 2026-11-22T00:00:00Z until 2026-12-24T00:00:00Z: all hosts (0 enrolled).\n0 commands that change hosts wait there now.',
    );
    expect(await it.list()).toEqual({ entries: [], always: [] });
    expect((await it.windows(...FREEZE, ...REASON)).out).toContain('Frozen from');
    expect((await it.windows(...FREEZE, ...REASON)).err).toContain('exists already');
    expect(await it.list()).toMatchObject({ entries: [{ kind: 'blackout', name: 'Year end' }] });
  });

  test('thaw ends it by its name, once; a server that runs shows who and why', async () => {
    const it = await open();
    await it.windows(...FREEZE, ...REASON, '--group', 'shop');
    expect((await it.windows('thaw', 'Year end', '--reason', ' ')).err).toContain('visible character');
    expect((await it.windows('thaw', 'Year end', '--reason', 'the season is over')).code).toBe(0);
    expect((await it.windows('thaw', 'Year end', ...REASON)).err).toContain('there is no blackout');
    const { url } = await it.start();
    const login = await fetch(`${url}/api/v1/auth/login`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ username: 'ada', password: PASSWORD }),
    });
    const { token } = JSON.parse(await login.text());
    const answer = await fetch(`${url}/api/v1/blackouts`, { headers: { authorization: `Bearer ${token}` } });
    expect(JSON.parse(await answer.text()).items).toMatchObject([
      {
        ...{ name: 'Year end', state: 'ended', created_by: 'cli', ended_by: 'cli' },
        ...{ end_reason: 'the season is over', scope: { kind: 'some', groups: ['shop'], hosts: [] } },
      },
    ]);
  });

  test('list is an agenda of windows and blackouts, and names policies without windows', async () => {
    const it = await open();
    const file = join(it.dataDir, 'policies.json');
    const window = {
      ...{ rrule: 'FREQ=WEEKLY;BYDAY=SU', starts_on: '2026-01-01', start: '02:00' },
      ...{ zone: 'UTC', duration_minutes: 120 },
    };
    const sundays = { ...STANDING, name: 'Sundays', windows: [window] };
    writeFileSync(file, JSON.stringify([STANDING, sundays]));
    expect((await it.run(['policies', 'apply', '--file', file, '--author', 'ada'])).err).toBe('');
    await it.windows(...FREEZE, ...REASON);
    expect((await it.windows('list', '--days', '7')).out.replaceAll(/ +/g, ' ').split('\n')).toEqual([
      'FROM UNTIL WHAT FOR NAME',
      '2026-11-22 00:00Z 2026-12-24 00:00Z blackout Year end',
      '2026-11-22 02:00Z 2026-11-22 04:00Z window install Sundays',
      'at any time: the policy "Nightly"',
    ]);
    expect(await it.list('--days', '10')).toMatchObject({ entries: [{}, {}, {}], always: ['Nightly'] });
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, freeze, thaw'],
    ['freeze x --from a --until b', 'freeze needs --reason'],
    ['freeze x --reason a', 'freeze needs --from TIME and --until TIME'],
    ['freeze --reason a', 'freeze needs a NAME'],
    ['thaw x', 'thaw needs --reason'],
    ['thaw x --reason a --group b', 'work only with freeze'],
    ['list --days 0', 'from 1 to 366'],
    ['list --reason a', 'works only with freeze and thaw'],
    ['list all', 'unknown words: all'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await open();
    const ran = await it.windows(...words.split(' ').filter(Boolean));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string[], string]>([
    ['an unknown host', [...FREEZE, ...REASON, '--host', 'web9'], 'there is no host "web9"'],
    ['no time', ['freeze', 'x', '--from', 'today', '--until', 'soon', ...REASON], '/times'],
    [
      'an end that is past',
      ['freeze', 'x', '--from', '2026-01-01T00:00:00Z', '--until', '2026-02-01T00:00:00Z', ...REASON],
      '/times/ends_at must be after the start',
    ],
  ])('%s freezes nothing', async (_, words, message) => {
    const it = await open();
    expect(await it.windows(...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await it.list()).toEqual({ entries: [], always: [] });
  });
});
