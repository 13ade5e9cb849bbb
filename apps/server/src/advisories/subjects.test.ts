import { describe, expect, test } from 'vitest';
import { subjectsAfter } from './subjects.ts';

const DEBIAN = { id: 'debian', versionId: '12' };
const ALMA = { id: 'almalinux', versionId: '9.4' };
const install = (fields: object) => ({
  action: 'install' as const,
  name: 'x',
  to_version: '1.0-1',
  ...fields,
});

describe('the subjects of a query', () => {
  test('apt is queried by source name and source version, never by the binary name', () => {
    const gcc = {
      name: 'gcc',
      to_version: '4:12.2.0-3',
      source_name: 'gcc-defaults',
      source_version: '1.203',
      origin: 'Debian:12.9/stable',
    };
    expect(subjectsAfter('apt', DEBIAN, install(gcc))).toEqual({
      subjects: [{ ecosystem: 'Debian:12', name: 'gcc-defaults', version: '1.203' }],
      reason: null,
    });
  });

  test('dnf is queried by binary and source name, with the epoch', () => {
    const library = {
      name: 'openssl-libs',
      to_version: '1:3.0.7-1.el9',
      source_name: 'openssl',
      source_version: '3.0.7-1.el9',
      origin: 'baseos',
    };
    expect(subjectsAfter('dnf', ALMA, install(library)).subjects).toEqual([
      { ecosystem: 'AlmaLinux:9', name: 'openssl-libs', version: '1:3.0.7-1.el9' },
      { ecosystem: 'AlmaLinux:9', name: 'openssl', version: '0:3.0.7-1.el9' },
    ]);
  });

  test('npm names are exact, PyPI names are normalised (PEP 503)', () => {
    const after = (ecosystem: 'npm' | 'pypi', name: string) =>
      subjectsAfter(ecosystem, DEBIAN, install({ name, to_version: '1.0.0' })).subjects[0];
    expect(after('npm', '@Scope/A_b')).toMatchObject({ ecosystem: 'npm', name: '@Scope/A_b' });
    expect(after('pypi', 'Zope.Interface__x')).toMatchObject({ ecosystem: 'PyPI', name: 'zope-interface-x' });
  });
});

const OPENSSL = { source_name: 'openssl', source_version: '3.0.11-1', origin: 'Debian:12/stable' };
test.each([
  ['apt without an origin', 'apt', DEBIAN, { ...OPENSSL, origin: undefined }, 'undecidable'],
  ['apt with an empty origin', 'apt', DEBIAN, { ...OPENSSL, origin: ' ' }, 'undecidable'],
  ['dnf without an origin', 'dnf', ALMA, { ...OPENSSL, origin: undefined }, 'undecidable'],
  ['a local rpm file', 'dnf', ALMA, { ...OPENSSL, origin: '@commandline' }, 'undecidable'],
  ['apt without a source', 'apt', DEBIAN, {}, 'undecidable'],
  ['apt without a source version', 'apt', DEBIAN, { source_name: 'openssl' }, 'undecidable'],
  ['dnf without a source', 'dnf', ALMA, { origin: 'baseos' }, 'undecidable'],
  [
    'an rpm without a release',
    'dnf',
    ALMA,
    { ...OPENSSL, origin: 'baseos', to_version: '1.0' },
    'undecidable',
  ],
  ['a Debian version without an order', 'apt', DEBIAN, { ...OPENSSL, source_version: 'x y' }, 'undecidable'],
  ['an epoch that is not a number', 'apt', DEBIAN, { ...OPENSSL, source_version: 'a:1' }, 'undecidable'],
  ['a name with a line break', 'npm', DEBIAN, { name: 'a\nb' }, 'undecidable'],
  ['a distribution without data', 'dnf', { id: 'fedora', versionId: '40' }, OPENSSL, 'uncovered'],
  ['a third-party archive', 'apt', DEBIAN, { ...OPENSSL, origin: 'Docker CE:bookworm' }, 'uncovered'],
  ['a PPA', 'apt', DEBIAN, { ...OPENSSL, origin: 'LP-PPA-x-y:24.04/noble' }, 'uncovered'],
  [
    'an archive of Ubuntu on Debian',
    'apt',
    DEBIAN,
    { ...OPENSSL, origin: 'Ubuntu:24.04/noble' },
    'uncovered',
  ],
  ['a suite without a label', 'apt', DEBIAN, { ...OPENSSL, origin: 'stable' }, 'uncovered'],
  ['a folder', 'apt', DEBIAN, { ...OPENSSL, origin: 'localhost' }, 'uncovered'],
  ['an rpm repository that nobody knows', 'dnf', ALMA, { ...OPENSSL, origin: 'corp-tools' }, 'uncovered'],
  [
    'a name of the distribution, lengthened',
    'dnf',
    ALMA,
    { ...OPENSSL, origin: 'rpmfusion-updates' },
    'uncovered',
  ],
  ['another one', 'dnf', ALMA, { ...OPENSSL, origin: 'corp-updates' }, 'uncovered'],
  ['Ubuntu Pro', 'apt', DEBIAN, { ...OPENSSL, origin: 'UbuntuESM:22.04/jammy' }, 'uncovered'],
  ['a site without a release file', 'apt', DEBIAN, { ...OPENSSL, origin: 'apt.example.com' }, 'uncovered'],
  ['a third-party rpm repository', 'dnf', ALMA, { ...OPENSSL, origin: 'epel' }, 'uncovered'],
] as const)('%s is unchecked (%s)', (_what, ecosystem, system, fields, reason) => {
  expect(subjectsAfter(ecosystem, system, install(fields))).toEqual({ subjects: [], reason });
});

const UBUNTU = { id: 'ubuntu', versionId: '24.04' };
test.each([
  ['apt', DEBIAN, 'Debian-Security:12/stable-security'],
  ['apt', DEBIAN, 'Debian:12.9/stable, Example:1/stable'],
  ['apt', UBUNTU, 'Ubuntu:24.04/noble-updates'],
  ['apt', DEBIAN, 'security.debian.org'],
  ['apt', DEBIAN, 'http://deb.debian.org/debian'],
  ['dnf', ALMA, 'baseos'],
  ['dnf', ALMA, 'appstream-debuginfo'],
  ['dnf', ALMA, 'Corp_AlmaLinux_AppStream'],
  ['dnf', ALMA, 'corp-mirror-baseos'],
  ['dnf', ALMA, 'extras'],
  ['dnf', { id: 'opensuse-leap', versionId: '15.6' }, 'repo-sle-update'],
  ['dnf', { id: 'mageia', versionId: '9' }, 'updates-mageia-x86_64'],
  ['dnf', { id: 'azurelinux', versionId: '3.0' }, 'azurelinux-official-base'],
] as const)('%s of %o: the origin %s is the distribution', (ecosystem, system, origin) => {
  expect(subjectsAfter(ecosystem, system, install({ ...OPENSSL, origin })).reason).toBeNull();
});
