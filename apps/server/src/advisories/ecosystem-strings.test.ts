import { expect, test } from 'vitest';
import { osvEcosystem } from './ecosystem-strings.ts';

test.each([
  ['npm', 'debian', '12', 'npm'],
  ['pypi', 'fedora', '40', 'PyPI'],
  ['apt', 'debian', '12', 'Debian:12'],
  ['apt', 'debian', '12.5', 'Debian:12'],
  ['apt', 'debian', '', 'Debian:sid'],
  ['apt', 'ubuntu', '24.04', 'Ubuntu:24.04:LTS'],
  ['apt', 'ubuntu', '22.04', 'Ubuntu:22.04:LTS'],
  ['apt', 'ubuntu', '25.10', 'Ubuntu:25.10'],
  ['apt', 'ubuntu', '25.04', 'Ubuntu:25.04'],
  ['dnf', 'almalinux', '9.4', 'AlmaLinux:9'],
  ['dnf', 'rocky', '8.10', 'Rocky Linux:8'],
  ['dnf', 'opensuse-leap', '15.6', 'openSUSE:Leap 15.6'],
  ['dnf', 'opensuse-tumbleweed', '20260101', 'openSUSE:Tumbleweed'],
  ['dnf', 'sles', '15.6', 'SUSE:Linux Enterprise Server 15 SP6'],
  ['dnf', 'sles', '15', 'SUSE:Linux Enterprise Server 15'],
  ['dnf', 'azurelinux', '3.0', 'Azure Linux:3'],
  ['dnf', 'mageia', '9', 'Mageia:9'],
] as const)('%s of %s %s is queried as %s', (ecosystem, id, versionId, name) => {
  expect(osvEcosystem(ecosystem, { id, versionId })).toEqual({ covered: true, name });
});

test.each([
  ['apt', 'linuxmint', '22'],
  ['apt', 'ubuntu', 'rolling'],
  ['apt', 'debian', 'trixie/sid'],
  ['apt', 'almalinux', '9'],
  ['dnf', 'fedora', '40'],
  ['dnf', 'centos', '9'],
  ['dnf', 'amzn', '2023'],
  ['dnf', 'ol', '9.4'],
  ['dnf', 'rhel', '9.4'],
  ['dnf', 'photon', '5.0'],
  ['dnf', 'debian', '12'],
] as const)('%s of %s %s is covered by no database, and the reason is given', (ecosystem, id, versionId) => {
  expect(osvEcosystem(ecosystem, { id, versionId })).toEqual({
    covered: false,
    why: `no vulnerability database covers ${id} ${versionId}`,
  });
});
