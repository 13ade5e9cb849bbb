import { describe, expect, test } from 'vitest';
import { isAffected } from './versions.ts';

type Event = Record<string, unknown>;
type Asked = { ecosystem?: string; name?: string; version: string };

function entryOf(events: Event[], members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    package: { ecosystem: 'Debian:12', name: 'openssl' },
    ranges: [{ type: 'ECOSYSTEM', events }],
    ...members,
  };
}

function recordOf(...affected: unknown[]): Record<string, unknown> {
  return { id: 'X-1', affected };
}

function ask(record: unknown, { ecosystem = 'Debian:12', name = 'openssl', version }: Asked): string {
  return isAffected(record, { ecosystem, name, version });
}

const allVersions = recordOf(entryOf([{ introduced: '0' }]));

describe('walking the events (OSV schema, "Evaluation")', () => {
  test.each<[string, Event[], affected: string[], unaffected: string[]]>([
    ['introduced 0 has no lower end', [{ introduced: '0' }], ['0', '0~', '1:1'], []],
    ['introduced counts itself', [{ introduced: '2' }], ['2', '3'], ['1', '2~']],
    ['fixed does not count itself', [{ introduced: '0' }, { fixed: '2' }], ['1', '2~'], ['2', '2-0', '3']],
    [
      'last_affected counts itself',
      [{ introduced: '0' }, { last_affected: '2' }],
      ['2', '2-0'],
      ['2+b1', '3'],
    ],
    [
      'any order of events',
      [{ fixed: '2' }, { introduced: '3' }, { introduced: '0' }, { fixed: '4' }],
      ['1', '3'],
      ['2', '4'],
    ],
    ['a tie is broken for the fix', [{ fixed: '2' }, { introduced: '2' }], [], ['1', '2', '3']],
    ['last_affected at its introduction', [{ last_affected: '2' }, { introduced: '2' }], ['2'], ['1', '3']],
    ['the version is below a limit', [{ introduced: '0' }, { limit: '2' }], ['1'], ['2', '3']],
    [
      'one of several limits is enough',
      [{ introduced: '0' }, { limit: '2' }, { limit: '4' }],
      ['1', '3'],
      ['4'],
    ],
    ['limit * is no limit', [{ introduced: '0' }, { limit: '2' }, { limit: '*' }], ['1', '9'], []],
    ['nothing was introduced', [{ fixed: '2' }], [], ['1', '2']],
    ['no events', [], [], ['1']],
  ])('%s', (_what, events, affected, unaffected) => {
    const record = recordOf(entryOf(events));
    for (const version of affected) expect(ask(record, { version }), version).toBe('affected');
    for (const version of unaffected) expect(ask(record, { version }), version).toBe('unaffected');
  });
});

describe('versions listed', () => {
  const record = recordOf({
    package: { ecosystem: 'PyPI', name: 'a' },
    versions: ['1.0', '2.0rc1', '0.5m5'],
  });
  test.each([
    ['1.0', 'affected'],
    ['1.0.0', 'affected'],
    ['v1', 'affected'],
    ['2.0-RC.1', 'affected'],
    ['2.0', 'unaffected'],
    ['1.0+local', 'unaffected'],
    ['0.5m5', 'affected'], // its very spelling is listed
    ['0.6m1', 'undecidable'],
  ])('%s is %s: equal by order, not by spelling', (version, verdict) => {
    expect(ask(record, { ecosystem: 'PyPI', name: 'a', version })).toBe(verdict);
  });

  test('a listed version outside the ranges is still affected', () => {
    const listed = recordOf(entryOf([{ introduced: '0' }, { fixed: '2' }], { versions: ['3-1'] }));
    expect(ask(listed, { version: '3-1' })).toBe('affected');
    expect(ask(listed, { version: '0:3-01' })).toBe('affected');
    expect(ask(listed, { version: '3-2' })).toBe('unaffected');
  });
});

describe('which package', () => {
  test.each<[record: string, asked: string, string]>([
    ['Debian:12', 'Debian:12', 'affected'],
    ['Debian', 'Debian:12', 'affected'], // a bare ecosystem applies to every release
    ['Debian:12', 'Debian:13', 'unaffected'],
    ['Debian:1', 'Debian:12', 'unaffected'],
    ['Debian:12', 'Debian', 'undecidable'], // the host does not say which release it is
    ['Ubuntu:22.04:LTS', 'Ubuntu:22.04:LTS', 'affected'],
    ['Ubuntu:22.04:LTS', 'Ubuntu:22.04', 'undecidable'],
    ['Ubuntu:Pro:22.04:LTS', 'Ubuntu:22.04:LTS', 'unaffected'],
    ['Ubuntu', 'Debian:12', 'unaffected'],
    ['AlmaLinux:9', 'AlmaLinux:9', 'affected'],
    ['Rocky Linux:9', 'Rocky Linux:9', 'affected'],
    ['Red Hat:enterprise_linux:9::appstream', 'Red Hat:enterprise_linux:9::appstream', 'affected'],
    ['openSUSE:Leap 15.6', 'openSUSE:Leap 15.6', 'affected'],
    ['SUSE:Linux Enterprise Server 15 SP6', 'SUSE:Linux Enterprise Server 15 SP6', 'affected'],
    ['Fedora:40', 'Fedora:40', 'undecidable'], // no OSV ecosystem: unchecked, never clear
    ['debian:12', 'debian:12', 'undecidable'],
    ['apt', 'apt', 'undecidable'],
    ['npm', 'constructor', 'undecidable'],
  ])('a record of %j, asked for %j: %s', (ecosystem, asked, verdict) => {
    const record = recordOf({ ...entryOf([{ introduced: '0' }]), package: { ecosystem, name: 'openssl' } });
    expect(ask(record, { ecosystem: asked, version: '1.0' })).toBe(verdict);
  });

  test.each([
    ['PyPI', 'Zope.Interface', 'zope-interface', 'affected'], // PEP 503
    ['PyPI', 'a__b', 'A.-_b', 'affected'],
    ['PyPI', 'ab', 'a-b', 'unaffected'],
    ['npm', '@scope/Name', '@scope/Name', 'affected'],
    ['npm', '@scope/Name', '@scope/name', 'unaffected'],
    ['npm', '@scope/name', 'name', 'unaffected'],
    ['npm', 'a_b', 'a-b', 'unaffected'],
    ['Debian:12', 'openssl', 'OpenSSL', 'unaffected'],
  ])('%s: a record of %s, asked for %s: %s', (ecosystem, recorded, name, verdict) => {
    const record = recordOf({ ...entryOf([{ introduced: '0' }]), package: { ecosystem, name: recorded } });
    expect(ask(record, { ecosystem, name, version: '1.0.0' })).toBe(verdict);
  });

  test('any of several entries of the package is enough', () => {
    const record = recordOf(
      entryOf([{ introduced: '0' }], { package: { ecosystem: 'Debian:12', name: 'other' } }),
      entryOf([{ introduced: '0' }, { fixed: '1' }]),
      entryOf([{ introduced: '5' }]),
    );
    expect(ask(record, { version: '6' })).toBe('affected');
    expect(ask(record, { version: '3' })).toBe('unaffected');
  });

  test('a package alone, without ranges and versions, matches nothing', () => {
    expect(ask(recordOf({ package: { ecosystem: 'Debian:12', name: 'openssl' } }), { version: '1' })).toBe(
      'unaffected',
    );
  });
});

describe('records that a naive matcher reports as clean', () => {
  test.each([
    ['2024-08-02T20:32:38Z', 'unaffected'],
    ['2026-09-12T11:00:05.986201214Z', 'unaffected'],
    ['0001-01-01T00:00:00Z', 'affected'], // a zero instant is no withdrawal
    ['0001-01-01T00:00:00.000000Z', 'affected'],
    ['1970-01-01T00:00:00Z', 'affected'],
    ['', 'affected'],
    ['yes', 'affected'],
    [null, 'affected'],
    [false, 'affected'],
  ])('withdrawn %j: %s', (withdrawn, verdict) => {
    expect(ask({ ...allVersions, withdrawn }, { version: '1' })).toBe(verdict);
  });

  test('a GIT range is skipped, and the range behind it counts', () => {
    const git = {
      type: 'GIT',
      repo: 'https://example.org/x',
      events: [{ introduced: '0' }, { fixed: 'abc123' }],
    };
    const record = recordOf(
      entryOf([], { ranges: [git, { type: 'ECOSYSTEM', events: [{ introduced: '1' }] }] }),
    );
    expect(ask(record, { version: '2' })).toBe('affected');
    expect(ask(record, { version: '0.5' })).toBe('unaffected');
    expect(ask(recordOf(entryOf([], { ranges: [git] })), { version: '2' })).toBe('unaffected');
  });

  test.each(['SEMVER', 'ECOSYSTEM'])('an npm range may be called %s', (type) => {
    const record = recordOf({
      package: { ecosystem: 'npm', name: 'a' },
      ranges: [{ type, events: [{ introduced: '0' }, { fixed: '2.0.0' }] }],
    });
    expect(ask(record, { ecosystem: 'npm', name: 'a', version: '2.0.0-rc.1' })).toBe('affected');
    expect(ask(record, { ecosystem: 'npm', name: 'a', version: '2.0.0' })).toBe('unaffected');
    expect(ask(record, { ecosystem: 'npm', name: 'a', version: '1.2' })).toBe('undecidable');
  });

  test.each([
    ['xz 5.2.5 without a release is below its fix', '5.2.5', 'affected'],
    ['the fix, epoch left out', '5.2.5-8.el9_0', 'unaffected'],
    ['the fix', '0:5.2.5-8.el9_0', 'unaffected'],
    ['the release before the fix', '0:5.2.5-7.el9', 'affected'],
    ['a malformed EVR', '(none):5.2.5-7', 'undecidable'],
  ])('rpm: %s', (_what, version, verdict) => {
    const record = recordOf({
      package: { ecosystem: 'AlmaLinux:9', name: 'xz' },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '0:5.2.5-8.el9_0' }] }],
    });
    expect(ask(record, { ecosystem: 'AlmaLinux:9', name: 'xz', version })).toBe(verdict);
  });

  test('openEuler’s records leave the epoch out, so a version with one is undecidable', () => {
    const record = recordOf({
      package: { ecosystem: 'openEuler:24.03-LTS', name: 'vim' },
      ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '9.0-1' }] }],
    });
    const of = (version: string) => ask(record, { ecosystem: 'openEuler:24.03-LTS', name: 'vim', version });
    expect([of('2:8.0-1'), of('0:8.0-1'), of('8.0-1'), of('9.0-1')]).toEqual([
      'undecidable',
      'affected',
      'affected',
      'unaffected',
    ]);
  });
});

describe('an undecidable record is neither affected nor unaffected', () => {
  const fixed = [{ introduced: '0' }, { fixed: '2' }];
  test.each<[string, unknown]>([
    ['an event that has no place', recordOf(entryOf([{ introduced: '0' }, { fixed: '2_x' }]))],
    ['a limit that has no place', recordOf(entryOf([{ introduced: '0' }, { limit: '' }]))],
    ['an unknown event', recordOf(entryOf([...fixed, { reintroduced: '4' }]))],
    ['an event of two kinds', recordOf(entryOf([{ introduced: '0', fixed: '2' }]))],
    ['an empty event', recordOf(entryOf([...fixed, {}]))],
    ['an event that is a number', recordOf(entryOf([{ introduced: 0 }]))],
    ['no events member', recordOf(entryOf([], { ranges: [{ type: 'ECOSYSTEM' }] }))],
    ['an unknown range type', recordOf(entryOf([], { ranges: [{ type: 'CALVER', events: fixed }] }))],
    ['a range without a type', recordOf(entryOf([], { ranges: [{ events: fixed }] }))],
    [
      'SEMVER where versions are not semantic',
      recordOf(entryOf([], { ranges: [{ type: 'SEMVER', events: fixed }] })),
    ],
    ['ranges that are no list', recordOf(entryOf([], { ranges: {} }))],
    ['versions that are no strings', recordOf(entryOf(fixed, { versions: [3] }))],
    ['an entry that is no object', recordOf(entryOf(fixed), 'openssl')],
    ['a package without a name', recordOf(entryOf(fixed, { package: { ecosystem: 'Debian:12' } }))],
    ['affected that is no list', { id: 'X-1', affected: null }],
    ['no record', null],
    ['a record that is text', JSON.stringify(allVersions)],
    ['a record that is a list', [allVersions]],
  ])('%s', (_what, record) => {
    expect(ask(record, { version: '3' })).toBe('undecidable');
  });

  test.each(['', '1_0', 'latest version'])('a version that has no place: %j', (version) => {
    expect(ask(allVersions, { version })).toBe('undecidable');
    expect(ask(recordOf({ ...entryOf(fixed), ranges: [], versions: ['1'] }), { version })).toBe(
      'undecidable',
    );
  });

  test('a range that is decided and hits wins over one that cannot be decided', () => {
    const record = recordOf(entryOf([{ introduced: '0' }, { fixed: '_' }]), entryOf([{ introduced: '1' }]));
    expect(ask(record, { version: '2' })).toBe('affected');
    expect(ask(record, { version: '0.5' })).toBe('undecidable');
  });

  test('a range of another package that cannot be decided does not matter', () => {
    const other = entryOf([{ introduced: '0' }, {}], { package: { ecosystem: 'Debian:12', name: 'other' } });
    expect(ask(recordOf(other, entryOf(fixed)), { version: '3' })).toBe('unaffected');
  });

  test('a record that names no package affects none', () => {
    expect(ask({ id: 'X-1' }, { version: '1' })).toBe('unaffected');
    const commitsOnly = { ranges: [{ type: 'GIT', events: [] }] };
    expect(ask(recordOf(commitsOnly), { version: '1' })).toBe('unaffected');
    expect(ask(recordOf(commitsOnly, entryOf(fixed)), { version: '1' })).toBe('affected');
  });
});
