import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { createKey } from '../testing/fleet.ts';
import { loadHostPolicy, POLICY_MAX_BYTES } from './policy.ts';
import type { PolicyPlace } from './policy-folders.ts';

let root: ReturnType<typeof tmpDir>;
let place: PolicyPlace;
const key = createKey(1).entry;
const another = createKey(2).entry;

beforeEach(() => {
  root = tmpDir();
  const folder = join(root.path, 'etc', 'tidegate');
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  place = { path: join(folder, 'policy.json'), ownerUid: ownUid(), top: root.path };
});
afterEach(() => root.remove());

const write = (content: unknown, mode = 0o644) => {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(place.path, text, { mode });
};

function load(): string {
  const loaded = loadHostPolicy(place);
  return loaded.kind === 'unusable' || loaded.kind === 'unreadable'
    ? `${loaded.kind}: ${loaded.detail}`
    : loaded.kind;
}

test('without a file nothing is restricted, also where there is no folder', () => {
  expect(load()).toBe('none');
  rmSync(join(root.path, 'etc'), { recursive: true });
  expect(load()).toBe('none');
});

test('everything that a policy can say is understood', () => {
  const keys = [key, another].map(({ key_id, public_key_hex }) => ({ key_id, public_key_hex }));
  write({
    v: 1,
    ecosystems: ['apt', 'npm'],
    never_touch: { apt: ['linux-*', 'libc6'], npm: ['@corp/*'] },
    max_change: 'minor',
    standing_approvals: 'refuse',
    reboot: 'never',
    restart_services: 'allow',
    agent_updates: 'never',
    reboot_blockers: { users: ['ada'] },
    hours: [{ days: ['sat', 'sun'], from: '22:00', to: '24:00', time_zone: 'Europe/Berlin' }],
    state_max_age_minutes: 60,
    require_second_signature: { keys, threshold: 2 },
  });
  expect(loadHostPolicy(place)).toMatchObject({
    kind: 'policy',
    policy: {
      ecosystems: ['apt', 'npm'],
      neverTouch: { apt: ['linux-*', 'libc6'], npm: ['@corp/*'] },
      maxChange: 'minor',
      standingApprovals: 'refuse',
      reboot: 'never',
      restartServices: 'allow',
      agentUpdates: 'never',
      rebootBlockers: { users: ['ada'], ignoredInhibitors: [] },
      hours: [{ from: '22:00' }],
      stateMaxAgeMinutes: 60,
      secondSignature: { keys: [{ keyId: key.key_id }, { keyId: another.key_id }], threshold: 2 },
    },
  });
});

test('a file that restricts nothing is one', () => {
  write({ v: 1 });
  expect(load()).toBe('policy');
});

const signed = (keys: unknown, threshold: unknown = 1) => ({
  v: 1,
  require_second_signature: { keys, threshold },
});
const listed = { key_id: 'ops', public_key_hex: key.public_key_hex };
const hour = { days: ['mon'], from: '01:00', to: '02:00' };

describe('a file that cannot be followed stops everything, and says what to mend', () => {
  test.each<[string, unknown, string]>([
    ['an unknown field', { v: 1, never_tuch: {} }, '/never_tuch is no field of a policy'],
    ['an unknown ecosystem', { v: 1, ecosystems: ['cargo'] }, '/ecosystems/0'],
    ['an unknown ecosystem below', { v: 1, never_touch: { cargo: [] } }, '/never_touch'],
    ['an unknown change', { v: 1, max_change: 'major' }, '/max_change'],
    ['a change for each ecosystem', { v: 1, max_change: { npm: 'minor' } }, '/max_change'],
    ['an unknown word on policies', { v: 1, standing_approvals: 'never' }, '/standing_approvals'],
    ['an unknown word on reboots', { v: 1, reboot: 'refuse' }, '/reboot'],
    ['an unknown blocker', { v: 1, reboot_blockers: { alerts: [] } }, '/reboot_blockers/alerts'],
    ['no version', {}, 'v'],
    ['a later version', { v: 2 }, '/v'],
    ['no object', [], '/'],
    ['null', null, '/'],
    ['a duplicate key', '{"v":1,"ecosystems":["apt"],"ecosystems":["apt","npm"]}', 'duplicate key'],
    ['an empty file', '', 'not valid JSON'],
    ['half a file', '{"v":1,', 'not valid JSON'],
    ['a comment', '{"v":1} // all', 'not valid JSON'],
    ['a glob with more than stars', { v: 1, never_touch: { apt: ['lib[cd]*'] } }, '/never_touch/apt/0'],
    ['an empty glob', { v: 1, never_touch: { apt: [''] } }, '/never_touch/apt/0'],
    ['a day that there is not', { v: 1, hours: [{ ...hour, days: ['monday'] }] }, '/hours/0/days/0'],
    ['hours of no day', { v: 1, hours: [{ ...hour, days: [] }] }, '/hours/0/days'],
    ['no hours', { v: 1, hours: [] }, '/hours'],
    ['a time that there is not', { v: 1, hours: [{ ...hour, from: '24:00' }] }, '/hours/0/from'],
    [
      'hours without length',
      { v: 1, hours: [{ ...hour, to: '01:00' }] },
      '/hours/0 begins and ends at 01:00',
    ],
    [
      'a zone that there is not',
      { v: 1, hours: [{ ...hour, time_zone: 'Mars/Base' }] },
      '"Mars/Base" is no time',
    ],
    ['a state of no age', { v: 1, state_max_age_minutes: 0 }, '/state_max_age_minutes'],
    ['a state of more than a day', { v: 1, state_max_age_minutes: 1_441 }, '/state_max_age_minutes'],
    ['a state of half a minute', { v: 1, state_max_age_minutes: 0.5 }, '/state_max_age_minutes'],
    ['no keys', signed([]), '/require_second_signature/keys'],
    ['a threshold of none', signed([listed], 0), '/require_second_signature/threshold'],
    ['a threshold past the keys', signed([listed], 2), 'more than the 1 key(s)'],
    [
      'a key twice under two ids',
      signed([listed, { ...listed, key_id: 'b' }], 2),
      'keys/1 names a key twice',
    ],
    ['a weak key', signed([{ ...listed, public_key_hex: `01${'00'.repeat(31)}` }]), 'keys/0 is not a key'],
    ['no key', signed([{ ...listed, public_key_hex: `02${'00'.repeat(31)}` }]), 'keys/0 is not a key'],
    ['too large', `{"v":1}${' '.repeat(POLICY_MAX_BYTES)}`, 'larger than'],
  ])('%s', (_, content, said) => {
    write(content);
    expect(load()).toContain(`unusable: the policy ${place.path} cannot be followed`);
    expect(load()).toContain(said);
  });
});

test('a file that cannot be reached is told from one that is not there', () => {
  writeFileSync(join(root.path, 'file'), '');
  place = { ...place, path: join(root.path, 'file', 'policy.json') };
  expect(load()).toContain('unreadable: ');
});

describe('a file that others could have written, or could take away, stops everything', () => {
  test.each<[string, () => void, string]>([
    ['writable by its group', () => chmodSync(place.path, 0o664), 'mode 0664'],
    ['writable by everybody', () => chmodSync(place.path, 0o646), 'mode 0646'],
    ['a folder writable by its group', () => chmodSync(dirname(place.path), 0o775), 'chmod go-w'],
    [
      'a folder further up',
      () => chmodSync(join(root.path, 'etc'), 0o777),
      `${'etc'} can be written by others`,
    ],
    [
      'a link',
      () => {
        renameSync(place.path, `${place.path}.real`);
        symlinkSync(`${place.path}.real`, place.path);
      },
      'symbolic link',
    ],
    [
      'a link that leads nowhere: whoever restricted this host wanted no "none"',
      () => {
        rmSync(place.path);
        symlinkSync('/nowhere', place.path);
      },
      'symbolic link',
    ],
    [
      'a folder',
      () => {
        rmSync(place.path);
        mkdirSync(place.path);
      },
      'not a regular file',
    ],
    [
      'a pipe, which would never end',
      () => {
        rmSync(place.path);
        execFileSync('mkfifo', [place.path]);
      },
      'not a regular file',
    ],
    [
      'absent from a folder that others can write',
      () => {
        rmSync(place.path);
        chmodSync(dirname(place.path), 0o777);
      },
      'can be written by others',
    ],
  ])('%s', (_, spoil, said) => {
    write({ v: 1 });
    expect(load()).toBe('policy');
    spoil();
    expect(load()).toContain('unusable: ');
    expect(load()).toContain(said);
  });

  test('by its owner', () => {
    write({ v: 1 });
    const uid = ownUid();
    if (uid === null) return;
    place = { ...place, ownerUid: uid + 1 };
    expect(load()).toMatch(/unusable: .* belongs to user/);
  });

  test('behind a linked folder: what it points to is looked at as well', () => {
    const real = join(root.path, 'real');
    renameSync(join(root.path, 'etc'), real);
    symlinkSync(real, join(root.path, 'etc'));
    write({ v: 1 });
    expect(load()).toBe('policy');
    chmodSync(real, 0o777);
    expect(load()).toContain(`${real} can be written by others`);
  });

  test('a second name of the file is no fault: its owner and mode go with it', () => {
    write({ v: 1 });
    linkSync(place.path, `${place.path}.again`);
    expect(load()).toBe('policy');
  });
});
