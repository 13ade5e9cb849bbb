import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { servedPlaces } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';
import { STANDING } from '../testing/standing.ts';

const EXAMPLE = join(import.meta.dirname, '../../../../examples/policies/sundays.json');
const PASSWORD = 'correct horse battery';
const places = servedPlaces({
  async prepare(place) {
    for (const [name, role] of [
      ['ada', 'approver'],
      ['olga', 'admin'],
      ['victor', 'viewer'],
    ] as const) {
      const ran = await place.run(['operators', 'add', name, '--role', role], { stdin: `${PASSWORD}\n` });
      expect(ran.err).toBe('');
    }
  },
});

describe.each(SAMPLED_ENGINES)('tidegate policies on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const file = (content: unknown, name = 'policies.json') => {
      const path = join(it.dataDir, name);
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
      return path;
    };
    const policies = (...words: string[]) => it.run(['policies', ...words]);
    const apply = (content: unknown, ...words: string[]) =>
      policies('apply', '--file', file(content), '--author', 'ada', ...words);
    return { ...it, file, policies, apply };
  }

  test('publishes what files say, once; a difference is a new version, and nothing else is touched', async () => {
    const it = await open();
    const second = { ...STANDING, name: 'Second' };
    const dry = await it.apply([STANDING, second], '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      out: 'would publish: Nightly\n  at any time: install\nwould publish: Second\n  at any time: install',
      err: '',
    });
    expect(JSON.parse((await it.policies('list', '--json')).out)).toEqual({ items: [] });

    expect((await it.apply([STANDING, second])).out).toBe('published: Nightly\npublished: Second');
    expect((await it.apply([STANDING, second])).out).toBe('unchanged: Nightly\nunchanged: Second');
    const narrower = { ...STANDING, terms: { ...STANDING.terms, packages: ['curl'] } };
    expect((await it.apply(narrower)).out).toBe(
      'changed: Nightly (terms)\nin no file, left as it is: Second',
    );
    const { items: policies } = JSON.parse((await it.policies('list', '--json')).out);
    expect(policies).toMatchObject([
      { name: 'Second', version: 1, author: 'ada', state: 'in_force' },
      { name: 'Nightly', version: 2, author: 'ada', terms: { packages: ['curl'] } },
    ]);
    expect((await it.policies('list')).out).toMatch(/Nightly +in force +2 +ada +2026-12-01 00:00Z +never/);
  });

  test('a plan says what each window is for, and a window for what no policy does is refused', async () => {
    const it = await open();
    const daily = { rrule: 'FREQ=DAILY', starts_on: '2026-11-01', zone: 'UTC', duration_minutes: 60 };
    const windows = [
      { ...daily, start: '02:00', actions: ['install'], catch_up_hours: 6 },
      { ...daily, start: '04:00', rrule: null, actions: ['reboot'] },
      { ...daily, start: '06:00' },
    ];
    const reboot = { when: 'needed', warn_minutes: 5 };
    const policy = { ...STANDING, windows, reboot, restart_services: 'needed' };
    const plan = await it.apply(policy, '--author', 'olga', '--dry-run');
    expect(plan.out.split('\n')).toEqual([
      'would publish: Nightly',
      '  window: FREQ=DAILY from 2026-11-01 02:00 UTC, 60 min + 6 h to catch up: install',
      '  window: 2026-11-01 04:00 UTC, 60 min: reboot',
      '  window: FREQ=DAILY from 2026-11-01 06:00 UTC, 60 min: install, restart_services, reboot',
    ]);
    expect((await it.apply(policy, '--author', 'olga')).out).toBe('published: Nightly');
    expect(JSON.parse((await it.policies('show', 'Nightly')).out)).toEqual(policy);
    const services = { ...STANDING, windows: [{ ...daily, start: '02:00', actions: ['restart_services'] }] };
    expect(await it.apply(services)).toMatchObject({
      ...{ code: 1, out: '' },
      err: '"Nightly": /windows/0/actions must not name restart_services: the policy asks for no restarts of services',
    });
  });

  test('takes the example, and says when it will patch', async () => {
    const it = await open();
    const example = readFileSync(EXAMPLE, 'utf8');
    const plan = await it.apply(example, '--author', 'olga', '--dry-run');
    expect(plan).toMatchObject({ code: 0, err: '' });
    expect(plan.out.split('\n')).toEqual([
      'would publish: Sundays at two',
      '  window: FREQ=WEEKLY;BYDAY=SU from 2026-11-01 02:00 Europe/Berlin, 240 min + 12 h to catch up: install, reboot',
    ]);
    expect((await it.apply(example, '--author', 'olga')).out).toBe('published: Sundays at two');
  });

  test('show says it in the form that apply reads', async () => {
    const it = await open();
    await it.apply(STANDING);
    const { out } = await it.policies('show', 'Nightly');
    expect(JSON.parse(out)).toEqual(STANDING);
    expect((await it.apply(out)).out).toBe('unchanged: Nightly');
  });

  test('a member that a file leaves out is a difference, and what reboots takes an admin', async () => {
    const it = await open();
    const reboot = { when: 'needed', warn_minutes: 5 };
    expect(await it.apply({ ...STANDING, reboot })).toMatchObject({
      ...{ code: 1, out: '' },
      err: '"Nightly": /reboot takes an admin as the author of the policy',
    });
    const asAdmin = (content: unknown) => it.apply(content, '--author', 'olga');
    expect(await asAdmin({ ...STANDING, reboot })).toMatchObject({ out: 'published: Nightly', err: '' });
    expect(JSON.parse((await it.policies('show', 'Nightly')).out)).toEqual({ ...STANDING, reboot });
    expect((await asAdmin(STANDING)).out).toBe('changed: Nightly (reboot)');
    expect(JSON.parse((await it.policies('show', 'Nightly')).out)).toEqual(STANDING);
  });

  test('backtest says what one would have done, and which are unknown', async () => {
    const it = await open();
    await it.apply(STANDING);
    const ran = await it.policies('backtest', 'Nightly');
    expect(ran.out).toMatch(/^Decisions from .*: 0\nIt would have approved: 0 approved/);
    expect(JSON.parse((await it.policies('backtest', 'Nightly', '--json')).out)).toMatchObject({
      ...{ decisions: 0, cut: false, updates: [] },
    });
    expect(await it.policies('backtest', 'Other')).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('there is no policy "Other"') },
    });
  });

  test('another author is a change, and a suspended policy comes into force again', async () => {
    const it = await open();
    await it.apply(STANDING);
    await it.run(['operators', 'disable', 'ada']);
    expect(JSON.parse((await it.policies('list', '--all', '--json')).out)).toMatchObject({
      items: [{ state: 'suspended', end_reason: 'author_disabled' }],
    });
    expect((await it.policies('list', '--json')).out).toContain('[]');
    const ran = await it.policies('apply', '-f', it.file(STANDING), '--author', 'olga');
    expect(ran.out).toBe('changed: Nightly (author, state)');
    expect(JSON.parse((await it.policies('list', '--json')).out)).toMatchObject({
      items: [{ name: 'Nightly', version: 2, author: 'olga', state: 'in_force' }],
    });
  });

  test('revoke ends one by its name; it stays so until files bring another', async () => {
    const it = await open();
    await it.apply(STANDING);
    expect(await it.policies('revoke', 'Nightly')).toMatchObject({ code: 0 });
    expect((await it.policies('revoke', 'Nightly')).err).toContain('has ended already');
    expect((await it.apply(STANDING)).out).toBe('published: Nightly');
    expect(JSON.parse((await it.policies('list', '--json')).out).items).toMatchObject([{ version: 1 }]);
  });

  test('a server that runs sees what was published, signed by its own key, by the actor cli', async () => {
    const it = await open();
    await it.apply(STANDING);
    const { url } = await it.start();
    const call = async (path: string, init: RequestInit = {}) => {
      const answer = await fetch(`${url}/api/v1${path}`, init);
      return JSON.parse(await answer.text());
    };
    const { token } = await call('/auth/login', {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ username: 'olga', password: PASSWORD }),
    });
    const headers = { authorization: `Bearer ${token}` };
    const { items } = await call('/policies', { headers });
    expect(items).toMatchObject([{ name: 'Nightly', author: 'ada', state: 'in_force' }]);
    const detail = await call(`/policies/${items[0].id}`, { headers });
    const { keys } = await call('/public-keys', { headers });
    expect(keys.map((key: { key_id: string }) => key.key_id)).toContain(detail.envelope.signatures[0].keyid);
    const { items: events } = await call('/events?type=policy_published', { headers });
    expect(events).toMatchObject([{ actor: 'cli', content: { author: 'ada' } }]);
  });

  test.each<[string, unknown, string]>([
    ['is no JSON', '{', 'policies.json'],
    ['has an unknown member', { ...STANDING, overrides: true }, 'policies.json: /'],
    ['names a policy twice', [STANDING, STANDING], 'two of the policies are named "Nightly"'],
    [
      'has an end that is past',
      [{ ...STANDING, ends_at: '2020-01-01T00:00:00Z' }],
      '"Nightly": /ends_at must be',
    ],
    ['names a host that is not there', [hostless()], 'must name enrolled hosts'],
  ])('a file that %s publishes nothing', async (_, content, message) => {
    const it = await open();
    const ran = await it.apply(content);
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) });
    expect(JSON.parse((await it.policies('list', '--json')).out)).toEqual({ items: [] });
  });

  test('one of several that is wrong keeps the others from being published', async () => {
    const it = await open();
    const ran = await it.apply([STANDING, { ...STANDING, name: 'Second', ends_at: '2020-01-01T00:00:00Z' }]);
    expect(ran.code).toBe(1);
    expect(JSON.parse((await it.policies('list', '--json')).out)).toEqual({ items: [] });
  });

  test.each([
    ['victor', 'a viewer approves nothing'],
    ['nobody', 'there is no operator "nobody"'],
  ])('%s cannot be an author', async (name, message) => {
    const it = await open();
    const ran = await it.policies('apply', '-f', it.file(STANDING), '--author', name);
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, show, backtest, apply, revoke'],
    ['apply', 'apply needs --file FILE'],
    ['apply -f x', 'apply needs --author OPERATOR'],
    ['show', 'show needs a NAME'],
    ['list --author ada', 'work only with apply'],
    ['revoke x --all', '--all works only with list'],
    ['list all', 'unknown words: all'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await open();
    const ran = await it.policies(...words.split(' ').filter(Boolean));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });
});

function hostless() {
  const hosts = ['01900000-0000-7000-8000-00000000beef'];
  return { ...STANDING, scope: { kind: 'some', groups: [], hosts } };
}
