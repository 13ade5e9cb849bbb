import { expect, test } from 'vitest';
import { debRelease, judgeKernel, rpmReleases, runningVersion } from './kernel-rules.ts';

const deb = (release: string, version: string) => ({ release, version, package: `linux-image-${release}` });
const rpm = (version: string) => ({ release: `${version}.x86_64`, version, package: 'kernel-core' });
const D28 = deb('6.1.0-28-amd64', '6.1.119-1');
const D30 = deb('6.1.0-30-amd64', '6.1.124-1');
const D9 = deb('6.1.0-9-amd64', '6.1.27-1');
const PVE12 = deb('6.8.12-12-pve', '6.8.12-12');
const PVE4 = deb('6.8.12-4-pve', '6.8.12-4');

test.each([
  ['the newest runs', 'apt', '6.1.0-30-amd64', '6.1.124-1', [D28, D30], null, 'current'],
  ['a newer one is installed', 'apt', '6.1.0-28-amd64', '6.1.119-1', [D28, D30], null, 'newer'],
  [
    'the order is that of dpkg, not of text',
    'apt',
    '6.1.0-28-amd64',
    '6.1.119-1',
    [D9, D28],
    null,
    'current',
  ],
  ['the same release was built again', 'apt', '6.1.0-30-amd64', '6.1.120-1', [D30], null, 'newer'],
  ['the build of the same release is unknown', 'apt', '6.1.0-30-amd64', null, [D30], null, 'unknown'],
  ['the running one was removed', 'apt', '6.1.0-28-amd64', '6.1.119-1', [D30], null, 'newer'],
  ['a kernel of the provider', 'apt', '6.9.3-custom', null, [D30], null, 'unknown'],
  ['no kernel is installed', 'apt', '6.1.0-30-amd64', '6.1.124-1', [], null, 'unknown'],
  ['pinned to the running one', 'apt', '6.8.12-4-pve', '6.8.12-4', [PVE4, PVE12], '6.8.12-4-pve', 'current'],
  ['pinned to another one', 'apt', '6.8.12-12-pve', '6.8.12-12', [PVE4, PVE12], '6.8.12-4-pve', 'pinned'],
  ['pinned to one that is gone', 'apt', '6.8.12-4-pve', '6.8.12-4', [PVE4], '6.5.1-1-pve', 'unknown'],
  [
    'the newest of rpm runs',
    'dnf',
    '5.14.0-427.el9.x86_64',
    '5.14.0-427.el9',
    [rpm('5.14.0-70.el9'), rpm('5.14.0-427.el9')],
    null,
    'current',
  ],
  [
    'a newer one of rpm',
    'dnf',
    '5.14.0-70.el9.x86_64',
    '5.14.0-70.el9',
    [rpm('5.14.0-70.el9'), rpm('5.14.0-427.el9')],
    null,
    'newer',
  ],
  [
    'a version that has no order',
    'dnf',
    '5.14.0-70.el9.x86_64',
    '5.14.0-70.el9',
    [rpm('5.14.0-70.el9'), rpm('')],
    null,
    'unknown',
  ],
] as const)('%s', (_, ecosystem, release, version, bootable, pinned, kind) => {
  expect(judgeKernel({ ecosystem, running: { release, version }, bootable, pinned }).kind).toBe(kind);
});

test('of flavours of one build the running one is the next', () => {
  const cloud = deb('6.1.0-30-cloud-amd64', '6.1.124-1');
  const running = { release: cloud.release, version: '6.1.124-1' };
  const facts = { ecosystem: 'apt' as const, running, pinned: null };
  for (const bootable of [
    [cloud, D30],
    [D30, cloud],
  ]) {
    expect(judgeKernel({ ...facts, bootable })).toMatchObject({ kind: 'current', next: cloud });
  }
});

test.each([
  ['', '#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)', '6.1.119-1'],
  ['', '#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4 (2024-11-06T15:04Z)', '6.8.12-4'],
  ['', '#1 SMP PREEMPT_DYNAMIC PVE 6.5.11-8 (2024-01-30T12:27Z)', '6.5.11-8'],
  ['Ubuntu 5.15.0-91.101-generic 5.15.131', '#101-Ubuntu SMP Tue Nov 14', '5.15.0-91.101'],
  ['Ubuntu 6.8.0-40.40~22.04.3-generic 6.8.12', '#40~22.04.3-Ubuntu SMP', '6.8.0-40.40~22.04.3'],
  ['', '#1 SMP PREEMPT_DYNAMIC @0', null],
])('the running version of %j and %j is %s', (signature, uname, version) => {
  expect(runningVersion({ signature, uname })).toBe(version);
});

test.each([
  ['linux-image-6.1.0-30-amd64', '6.1.0-30-amd64'],
  ['linux-image-unsigned-6.8.0-40-generic', '6.8.0-40-generic'],
  ['proxmox-kernel-6.8.12-4-pve-signed', '6.8.12-4-pve'],
  ['pve-kernel-5.15.102-1-pve', '5.15.102-1-pve'],
  ['linux-image-amd64', null],
  ['linux-headers-6.1.0-30-amd64', null],
])('the release of %s is %s', (name, release) => {
  expect(debRelease(name)).toBe(release);
});

test.each([
  ['kernel-core', ['5.14.0-427.el9.x86_64']],
  ['kernel', ['5.14.0-427.el9.x86_64']],
  ['kernel-rt-core', ['5.14.0-427.el9.x86_64', '5.14.0-427.el9.x86_64+rt']],
  ['kernel-modules', []],
  ['kernel-tools', []],
])('rpm installs %s as %j', (name, releases) => {
  expect(rpmReleases({ name, version: '5.14.0-427.el9', arch: 'x86_64' })).toEqual(releases);
});
