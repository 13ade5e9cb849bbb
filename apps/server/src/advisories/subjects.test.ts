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

const OPENSSL = { source_name: 'openssl', source_version: '3.0.11-1' };
test.each([
  ['apt without a source', 'apt', DEBIAN, {}, 'undecidable'],
  ['apt without a source version', 'apt', DEBIAN, { source_name: 'openssl' }, 'undecidable'],
  ['dnf without a source', 'dnf', ALMA, {}, 'undecidable'],
  ['an rpm without a release', 'dnf', ALMA, { ...OPENSSL, to_version: '1.0' }, 'undecidable'],
  ['a Debian version without an order', 'apt', DEBIAN, { ...OPENSSL, source_version: 'x y' }, 'undecidable'],
  ['an epoch that is not a number', 'apt', DEBIAN, { ...OPENSSL, source_version: 'a:1' }, 'undecidable'],
  ['a name with a line break', 'npm', DEBIAN, { name: 'a\nb' }, 'undecidable'],
  ['a distribution without data', 'dnf', { id: 'fedora', versionId: '40' }, OPENSSL, 'uncovered'],
  ['a third-party archive', 'apt', DEBIAN, { ...OPENSSL, origin: 'Docker CE:bookworm' }, 'uncovered'],
  ['a PPA', 'apt', DEBIAN, { ...OPENSSL, origin: 'LP-PPA-x-y:24.04/noble' }, 'uncovered'],
  ['Ubuntu Pro', 'apt', DEBIAN, { ...OPENSSL, origin: 'UbuntuESM:22.04/jammy' }, 'uncovered'],
  ['a site without a release file', 'apt', DEBIAN, { ...OPENSSL, origin: 'apt.example.com' }, 'uncovered'],
  ['a third-party rpm repository', 'dnf', ALMA, { ...OPENSSL, origin: 'epel' }, 'uncovered'],
] as const)('%s is unchecked (%s)', (_what, ecosystem, system, fields, reason) => {
  expect(subjectsAfter(ecosystem, system, install(fields))).toEqual({ subjects: [], reason });
});

test.each([
  'Debian-Security:12/stable-security',
  'Debian:12.9/stable, Example:1/stable',
  'Ubuntu:24.04/noble-updates',
  'security.debian.org',
  'http://deb.debian.org/debian',
  'stable',
])('the origin %s is the distribution', (origin) => {
  expect(subjectsAfter('apt', DEBIAN, install({ ...OPENSSL, origin })).reason).toBeNull();
});
