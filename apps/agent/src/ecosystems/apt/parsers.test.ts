import { describe, expect, test } from 'vitest';
import { toActions } from './actions.ts';
import { type InstalledPackage, parseInstalled } from './installed.ts';
import { listFaults } from './lists.ts';
import { parseListing } from './parse-listing.ts';
import { parseOrigins, parsePolicies } from './parse-policy.ts';
import { parseRecords } from './parse-records.ts';
import { parseTransaction } from './parse-transaction.ts';
import { archiveFilename, parseUris } from './parse-uris.ts';
import { installPin, isSafeArgument, pin } from './session.ts';

const HASH = '0123456789abcdef'.repeat(4);

describe('a listing of apt-get --print-uris', () => {
  const uri = (file: string) => `'http://archive/pool/${file}' ${file} 10 SHA256:${HASH}`;
  const LISTING = [
    'Suggested packages:',
    '   demo-doc (2)',
    'The following NEW packages will be installed:',
    '   libnew (1:2.0-1)',
    'The following packages will be REMOVED:',
    '   old:i386 (3)',
    '   older* (4)',
    'The following held packages will be changed:',
    '   demo (1 => 2)',
    'The following packages will be upgraded:',
    '   demo (1 => 2)',
    '   lib:i386 (1 => 2)',
    'The following packages will be DOWNGRADED:',
    '   down (2 => 1)',
    '2 upgraded, 1 newly installed, 1 downgraded, 2 to remove and 7 not upgraded.',
    ...['libnew_1%3a2.0-1_all.deb', 'demo_2_amd64.deb', 'lib_2_i386.deb', 'down_1_all.deb'].map(uri),
  ];

  test('gives every change with the architecture of its file, and what is removed', () => {
    const listing = parseListing(LISTING.join('\n'), 'amd64');
    if (!listing.ok) throw new Error(listing.reason);
    expect(listing.value.removed).toEqual(['old:i386', 'older']);
    expect(listing.value.changes.map(({ name, arch, from, to }) => [name, arch, from, to])).toEqual([
      ['libnew', 'all', null, '1:2.0-1'],
      ['demo', 'amd64', '1', '2'],
      ['lib', 'i386', '1', '2'],
      ['down', 'all', '2', '1'],
    ]);
  });

  test.each([
    ['without a count', (line: string) => !line.includes('not upgraded')],
    ['that lacks an upgraded package', (line: string) => !line.includes('lib:i386')],
    ['that lacks a removed package', (line: string) => !line.includes('older')],
    ['that lacks a file', (line: string) => !line.includes('demo_2')],
  ])('a listing %s is invalid', (_, isKept) => {
    expect(parseListing(LISTING.filter(isKept).join('\n'), 'amd64').ok).toBe(false);
  });

  test.each([
    ['a file of no package', [...LISTING, uri('other_1_all.deb')]],
    ['a line in an unknown form', LISTING.map((line) => line.replace('(1 => 2)', '(1 -> 2)'))],
  ])('%s makes a listing invalid', (_, lines) => {
    expect(parseListing(lines.join('\n'), 'amd64').ok).toBe(false);
  });
});

test('the removal of a package is kept where the same version of a foreign architecture is upgraded', () => {
  const lines = [
    'Remv a [1]',
    'Inst a:i386 [1] (2 Debian:12/stable [i386])',
    'Inst b [1] (2 Debian:12/stable [all])',
  ];
  const transaction = parseTransaction(`${lines.join('\n')}\nRemv b [1]\n`);
  expect(transaction.ok && transaction.value.removals).toEqual([{ name: 'a', arch: null, from: '1' }]);
});

describe('a line of apt-get -s', () => {
  test.each([
    [
      'an upgrade',
      'Inst bash [5.2.15-2+b8] (5.2.15-2+b13 Debian:12.15/oldstable [amd64])',
      {
        name: 'bash',
        arch: 'amd64',
        from: '5.2.15-2+b8',
        to: '5.2.15-2+b13',
        origin: 'Debian:12.15/oldstable',
      },
    ],
    [
      'a new package',
      'Inst libgrowing (2.0-1 Debian:12/stable [all])',
      { name: 'libgrowing', arch: 'all', from: null, to: '2.0-1', origin: 'Debian:12/stable' },
    ],
    [
      'an upgrade that breaks nothing for a while',
      'Inst perl [5.36.0-7+deb12u2] (5.36.0-7+deb12u4 Debian-Security:12/oldstable-security [amd64]) []',
      {
        ...{ name: 'perl', arch: 'amd64', from: '5.36.0-7+deb12u2', to: '5.36.0-7+deb12u4' },
        origin: 'Debian-Security:12/oldstable-security',
      },
    ],
    [
      'an upgrade that breaks another for a while',
      'Inst libext2fs2 [1.47.0-2] (1.47.0-2+b2 Debian:12.15/oldstable [amd64]) [e2fsprogs:amd64 on libext2fs2:amd64] [e2fsprogs:amd64 ]',
      {
        name: 'libext2fs2',
        arch: 'amd64',
        from: '1.47.0-2',
        to: '1.47.0-2+b2',
        origin: 'Debian:12.15/oldstable',
      },
    ],
    [
      'several origins, an epoch',
      'Inst login [1:4.13] (1:4.14 Ubuntu:22.04/jammy-updates, Ubuntu:22.04/jammy-security [amd64])',
      {
        ...{ name: 'login', arch: 'amd64', from: '1:4.13', to: '1:4.14' },
        origin: 'Ubuntu:22.04/jammy-updates, Ubuntu:22.04/jammy-security',
      },
    ],
    [
      'a foreign architecture',
      'Inst libc6:i386 [2.36-9] (2.36-10 Debian:12/stable [i386])',
      { name: 'libc6', arch: 'i386', from: '2.36-9', to: '2.36-10', origin: 'Debian:12/stable' },
    ],
    [
      'a label with brackets',
      'Inst tool [1] (2 A (b) [c]:1/x [all])',
      { name: 'tool', arch: 'all', from: '1', to: '2', origin: 'A (b) [c]:1/x' },
    ],
    [
      'a version that no archive has',
      'Inst demo [1.1-1] (1.1-1  [all])',
      { name: 'demo', arch: 'all', from: '1.1-1', to: '1.1-1', origin: '' },
    ],
    [
      'a suite without label and version',
      'Inst security-tool [1] (2 s [all])',
      { name: 'security-tool', arch: 'all', from: '1', to: '2', origin: 's' },
    ],
  ])('that says %s is read whole', (_, line, change) => {
    expect(parseTransaction(`${line}\n`)).toEqual({ ok: true, value: { changes: [change], removals: [] } });
  });

  test.each([
    ['Remv demo [1.0-1]', { name: 'demo', arch: null, from: '1.0-1' }],
    ['Remv libc6:i386 [2.36-9] [a:i386 ]', { name: 'libc6', arch: 'i386', from: '2.36-9' }],
    ['Purg demo [1.0-1]', { name: 'demo', arch: null, from: '1.0-1' }],
  ])('"%s" is a removal', (line, removal) => {
    expect(parseTransaction(line)).toEqual({ ok: true, value: { changes: [], removals: [removal] } });
  });

  test.each([
    ['Inst demo'],
    ['Inst demo [1.0] 1.1'],
    ['Inst demo (1.1 s)'],
    ['Remv demo'],
    ['Conf demo broken'],
    ['Inst a (1 s [all])\nInst a (1 s [all])'],
  ])('"%s" makes the whole answer unusable', (output) => {
    expect(parseTransaction(`Inst good (1 s [all])\n${output}\n`)).toMatchObject({ ok: false });
  });

  test('that is a banner is passed over', () => {
    const output = [
      'NOTE: This is only a simulation!',
      '      apt-get needs root privileges for real execution.',
      'Reading package lists...',
      'Installing: nothing',
      'The following packages will be REMOVED:',
      '  Inst Remv',
      'Conf demo (1.1-1 s [all])',
      '0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.',
    ];
    expect(parseTransaction(output.join('\n'))).toEqual({ ok: true, value: { changes: [], removals: [] } });
  });

  test('that removes a package to install its new version is not a removal', () => {
    const parsed = parseTransaction('Remv demo [1.0-1]\nInst demo [1.0-1] (1.1-1 s [all])\n');
    expect(parsed).toMatchObject({ ok: true, value: { removals: [], changes: [{ name: 'demo' }] } });
  });
});

describe('a transaction as actions of a plan', () => {
  const base = { version: '1.0', sourceName: 's', sourceVersion: '1.0', held: false, essential: false };
  const installed: InstalledPackage[] = [
    { ...base, name: 'lib', arch: 'amd64' },
    { ...base, name: 'lib', arch: 'i386' },
    { ...base, name: 'data', arch: 'all' },
    { ...base, name: 'base', arch: 'amd64', essential: true },
  ];
  const native = { nativeArch: 'amd64' };

  test.each([
    ['1.0', '1.0~rc1', 'downgrade'],
    ['1:1.0', '2.0', 'downgrade'],
    ['1.9', '1.10', 'upgrade'],
    [null, '1.0', 'install'],
  ])('%s to %s is: %s', (from, to, action) => {
    const changes = [{ name: 'x', arch: 'all', from, to, origin: '' }];
    const actions = toActions({ changes, removals: [] }, installed, native);
    expect(actions).toMatchObject({ ok: true, value: [{ action, to_version: to }] });
  });

  test.each([
    [{ name: 'lib', arch: null, from: '1.0' }, 'amd64'],
    [{ name: 'lib', arch: 'i386', from: '1.0' }, 'i386'],
    [{ name: 'data', arch: null, from: '1.0' }, 'all'],
  ])('a removal gets the architecture that is installed: %o', (removal, arch) => {
    const actions = toActions({ changes: [], removals: [removal] }, installed, native);
    const expected = { action: 'remove', name: removal.name, arch, from_version: '1.0' };
    expect(actions).toEqual({ ok: true, value: [expected] });
  });

  test.each([
    ['an essential package', 'base'],
    ['an unknown package', 'ghost'],
  ])('the removal of %s is refused', (_, name) => {
    const removals = [{ name, arch: null, from: '1.0' }];
    expect(toActions({ changes: [], removals }, installed, native)).toMatchObject({ ok: false });
  });
});

describe('a line of --print-uris', () => {
  test('gives address, size and SHA-256, with the file name as apt has it on disk', () => {
    const url = 'http://archive.example/pool/login_4.13%2bdfsg1-1_amd64.deb';
    const parsed = parseUris(`'${url}' login_1%3a4.13+dfsg1-1_amd64.deb 616084 SHA256:${HASH}\n`);
    const identity = { name: 'login', version: '1:4.13+dfsg1-1', arch: 'amd64' };
    const filename = 'login_1%3a4.13+dfsg1-1_amd64.deb';
    expect(parsed).toEqual({
      ok: true,
      value: [{ ...identity, url, filename, sizeBytes: 616084, sha256: HASH }],
    });
    expect(archiveFilename(identity)).toBe(filename);
  });

  test.each([
    ['MD5 only', `'http://a/x.deb' x_1_all.deb 10 MD5Sum:${HASH.slice(32)}`],
    ['no hash at all', "'http://a/x.deb' x_1_all.deb 10 "],
    ['a short hash', `'http://a/x.deb' x_1_all.deb 10 SHA256:${HASH.slice(1)}`],
    ['a folder in the name', `'http://a/x.deb' ../x_1_all.deb 10 SHA256:${HASH}`],
    ['a name of another form', `'http://a/x.deb' x.deb 10 SHA256:${HASH}`],
  ])('with %s is refused, not left out', (_, line) => {
    expect(parseUris(`${line}\n`)).toMatchObject({ ok: false });
  });
});

describe('a record of apt-cache show', () => {
  const record = (source: string) =>
    `Package: gcc\nVersion: 4:12.2.0-3\nArchitecture: amd64\n${source}Filename: pool/g\nSize: 5\nSHA256: ${HASH}\nDescription: x\n Source: lie\n .\n more\n`;
  test.each([
    ['Source: gcc-defaults (1.203)\n', 'gcc-defaults', '1.203'],
    ['Source: gcc-defaults\n', 'gcc-defaults', '4:12.2.0-3'],
    ['', 'gcc', '4:12.2.0-3'],
  ])('with %j has the source of the candidate', (source, sourceName, sourceVersion) => {
    const parsed = parseRecords(`${record(source)}\n`);
    expect(parsed).toMatchObject({
      ok: true,
      value: [{ sourceName, sourceVersion, sha256: HASH, sizeBytes: 5 }],
    });
  });

  test('that is installed only, from no archive, has no file', () => {
    expect(parseRecords('Package: a\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n')).toEqual(
      {
        ok: true,
        value: [],
      },
    );
  });

  test('without a version makes the answer unusable', () => {
    expect(parseRecords('Package: a\nFilename: x\n')).toMatchObject({ ok: false });
  });
});

describe('apt-cache policy', () => {
  const MAIN = 'http://archive.example/debian bookworm/main amd64 Packages';
  const output = `openssl:
  Installed: 3.0.19-1
  Candidate: 3.0.22-1
  Version table:
     3.0.22-1 500 (phased 10%)
        500 ${MAIN}
 *** 3.0.19-1 100
        100 /var/lib/dpkg/status
libc6:i386:
  Installed: (none)
  Candidate: 2.36-9
  Package pin: 2.36-9
  Version table:
     2.36-9 -1
         -1 ${MAIN}
`;
  test('gives candidates, phasing and the indexes of each version', () => {
    const parsed = parsePolicies(output);
    expect(parsed.ok && parsed.value.get('openssl')).toEqual({
      installed: '3.0.19-1',
      candidate: '3.0.22-1',
      versions: [
        { version: '3.0.22-1', indexes: [MAIN], phasedPercent: 10 },
        { version: '3.0.19-1', indexes: ['/var/lib/dpkg/status'], phasedPercent: null },
      ],
    });
    expect(parsed.ok && parsed.value.get('libc6:i386')).toMatchObject({
      installed: null,
      candidate: '2.36-9',
    });
  });

  test('with a line that cannot be read is unusable', () => {
    expect(parsePolicies(`${output}N: what is this\n`)).toMatchObject({ ok: false });
  });

  test.each([
    [
      'v=12,o=Debian,a=oldstable-security,n=bookworm-security,l=Debian-Security,c=main',
      'Debian-Security:12/oldstable-security',
      true,
    ],
    ['v=22.04,o=Ubuntu,a=jammy-security,n=jammy,l=Ubuntu,c=main', 'Ubuntu:22.04/jammy-security', true],
    ['v=12.9,o=Debian,a=stable,n=bookworm,l=Debian,c=main', 'Debian:12.9/stable', false],
    ['v=1,o=x,a=stable,n=x,l=Security Tools, Inc,c=security', 'Security Tools, Inc:1/stable', false],
    ['o=x,a=security-stable,c=main', 'security-stable', false],
    ['c=main', 'archive.example', false],
  ])('the release "%s" is the origin %s, security: %s', (release, text, security) => {
    const origins = parseOrigins(
      `Package files:\n 100 /var/lib/dpkg/status\n     release a=now\n 500 ${MAIN}\n     release ${release}\n     origin archive.example\nPinned packages:\n`,
    );
    expect([...origins]).toEqual([[MAIN, { text, security }]]);
  });
});

describe('dpkg-query', () => {
  const line = (state: string, rest = 'no\tno') =>
    `gcc\tamd64\t4:12.2.0-3\tgcc-defaults\t1.203\t${state}\t${rest}\n`;
  test.each([
    ['install\tinstalled\tok', { held: false }],
    ['hold\tinstalled\tok', { held: true }],
    ['install\ttriggers-awaited\tok', { held: false }],
  ])('in the state "%s" is installed: %o', (state, expected) => {
    const parsed = parseInstalled(line(state));
    const facts = { version: '4:12.2.0-3', sourceName: 'gcc-defaults', sourceVersion: '1.203', ...expected };
    expect(parsed).toMatchObject({ ok: true, value: { packages: [facts], faults: [] } });
  });

  test.each([
    ['install\thalf-configured\tok', 0, 1],
    ['install\tunpacked\tok', 0, 1],
    ['install\thalf-installed\treinstreq', 0, 2],
    ['install\tinstalled\treinstreq', 1, 1],
    ['deinstall\tconfig-files\tok', 0, 0],
  ])('in the state "%s" gives %i packages and %i faults', (state, packages, faults) => {
    const parsed = parseInstalled(line(state));
    expect(parsed.ok && [parsed.value.packages.length, parsed.value.faults.length]).toEqual([
      packages,
      faults,
    ]);
  });

  test('with a line that cannot be read is unusable', () => {
    expect(parseInstalled(`${line('install\tinstalled\tok')}gcc 12\n`)).toMatchObject({ ok: false });
  });
});

describe('package lists', () => {
  const expected = [
    "'http://a.example/d/dists/b/InRelease' a.example_d_dists_b_InRelease 0 ",
    "'http://a.example/d/dists/b-sec/InRelease' a.example_d_dists_b-sec_InRelease 0 ",
    "'http://a.example/d/dists/b/main/binary-amd64/Packages.xz' a.example_d_dists_b_main_binary-amd64_Packages 0 ",
    "'http://a.example/d/dists/b-sec/main/binary-amd64/Packages.xz' a.example_d_dists_b-sec_main_binary-amd64_Packages 0 ",
  ].join('\n');
  const both = [
    'a.example_d_dists_b_main_binary-amd64_Packages',
    'a.example_d_dists_b-sec_main_binary-amd64_Packages.lz4',
  ];
  test.each([
    ['all of them, one compressed', both, 0],
    ['one of two releases', both.slice(0, 1), 1],
    ['none', [], 2],
    ['release files only', ['a.example_d_dists_b_InRelease', 'a.example_d_dists_b-sec_InRelease'], 2],
  ])('%s give so many faults', (_, present, faults) => {
    expect(listFaults(expected, present)).toHaveLength(faults);
  });

  test('of no source at all are a fault', () => {
    expect(listFaults('', [])).toHaveLength(1);
  });
});

describe('command-line arguments', () => {
  test.each([
    [{ name: 'g++', arch: 'amd64', version: '4:12' }, 'g++:amd64=4:12', 'g++:amd64=4:12'],
    [{ name: 'demo', arch: 'all', version: '1' }, 'demo=1', 'demo=1'],
    [{ name: 'demo', version: '1.2+' }, 'demo=1.2+', 'demo=1.2++'],
  ])('%o', (pkg, plain, forInstall) => {
    expect([pin(pkg), installPin(pkg), isSafeArgument(pkg)]).toEqual([plain, forInstall, true]);
  });

  test.each([
    [{ name: '-o', version: '1' }],
    [{ name: 'demo*', version: '1' }],
    [{ name: 'demo', version: '1 -o x' }],
    [{ name: 'demo', version: '' }],
    [{ name: 'demo', arch: 'a m', version: '1' }],
  ])('refused: %o', (pkg) => {
    expect(isSafeArgument(pkg)).toBe(false);
  });
});
