import { describe, expect, test } from 'vitest';
import { hostRoot } from '../testing/host-root.ts';
import { chooseMachineIdSource, doubtMachineIdSource } from './choose-machine-id.ts';

const UUID = '4c4c4544-0043-3510-8052-b4c04f4d3132';
const MACHINE = { 'etc/machine-id': '0123456789abcdef0123456789abcdef' };
const DMI = { 'sys/class/dmi/id/product_uuid': UUID };
const CLOUD = { 'var/lib/cloud/data/instance-id': 'i-0abc' };
const MOUNTED = { 'proc/self/mountinfo': '36 35 98:0 /srv/id /etc/machine-id rw - ext4 /dev/x rw\n' };
const DOCKER = { '.dockerenv': '' };

test('auto is /etc/machine-id on a host, also where there is more, and the choice is what is kept', () => {
  using host = hostRoot({
    ...MACHINE,
    ...DMI,
    ...CLOUD,
    'proc/1/environ': 'HOME=/\0',
    'proc/1/cgroup': '0::/init.scope\n',
  });
  expect(chooseMachineIdSource('auto', host.root)).toMatchObject({ ok: true, source: 'machine-id' });
});

test.each([
  ['Docker', DOCKER],
  ['Podman', { 'run/.containerenv': '' }],
  ['a pod', { 'var/run/secrets/kubernetes.io/serviceaccount/token': 'x' }],
  ['systemd as its first process', { 'run/systemd/container': 'lxc\n' }],
  ['a manager that says so', { 'run/host/container-manager': 'systemd-nspawn' }],
  ['the environment of the first process', { 'proc/1/environ': 'HOME=/\0container=lxc\0' }],
  ['its control group', { 'proc/1/cgroup': '12:pids:/docker/0123\n' }],
])('auto refuses to guess in a container (%s) and says which source to choose', (_, sign) => {
  using host = hostRoot({ ...MACHINE, ...DMI, ...sign });
  const detail = expect.stringMatching(/container .*file:\/path.*machine-id/s);
  expect(chooseMachineIdSource('auto', host.root)).toEqual({ ok: false, detail });
  expect(chooseMachineIdSource('machine-id', host.root)).toMatchObject({ ok: true, source: 'machine-id' });
});

test('auto takes a machine id that was mounted into the container', () => {
  using host = hostRoot({ ...MACHINE, ...DOCKER, ...MOUNTED });
  expect(chooseMachineIdSource('auto', host.root)).toMatchObject({ ok: true, source: 'machine-id' });
});

test.each(['mac', 'file:srv', 'MACHINE-ID', ''])(
  '%j is no source, and is not read as another',
  (requested) => {
    using host = hostRoot(MACHINE);
    expect(chooseMachineIdSource(requested, host.root)).toEqual({
      ok: false,
      detail: expect.stringContaining('auto, machine-id, dmi'),
    });
  },
);

describe('doubts about a source', () => {
  test.each([
    ['machine-id', MACHINE, null],
    ['machine-id', { ...MACHINE, ...DMI }, /machine-id\+dmi tells the copy apart/],
    ['machine-id', { ...MACHINE, ...CLOUD }, /cloud tells the copy apart/],
    ['machine-id+dmi', { ...MACHINE, ...DMI }, null],
    ['cloud', CLOUD, null],
    ['file:/srv/id', { ...MACHINE, ...DMI }, null],
    ['machine-id', { ...MACHINE, ...DOCKER }, /share \/etc\/machine-id/],
    ['machine-id+dmi', { ...MACHINE, ...DMI, ...DOCKER }, /share \/etc\/machine-id/],
    ['machine-id', { ...MACHINE, ...DOCKER, ...MOUNTED }, null],
    ['dmi', { ...DMI, ...DOCKER }, /shares this id with its host/],
    ['cloud', { ...CLOUD, ...DOCKER }, /shares this id with its host/],
    ['file:/srv/id', DOCKER, null],
  ])('%s with %j: %s', (source, files, doubt) => {
    using host = hostRoot(files);
    const found = doubtMachineIdSource(source, host.root);
    if (doubt === null) expect(found).toBeNull();
    else expect(found).toMatch(doubt);
  });
});
