import { createHash } from 'node:crypto';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hostRoot } from '../testing/host-root.ts';
import { type MachineIdSource, readMachineId } from './machine-id.ts';

const ID = '0123456789abcdef0123456789abcdef';
const UUID = '4c4c4544-0043-3510-8052-b4c04f4d3132';
const DMI = 'sys/class/dmi/id/product_uuid';
const COPY = 'run/tidegate/product_uuid';
const DATA = 'run/cloud-init/instance-data.json';
const INSTANCE = 'var/lib/cloud/data/instance-id';
const both = createHash('sha256').update(`${ID}\n${UUID}`).digest('hex');

describe('a source names the machine (R1)', () => {
  test.each<[MachineIdSource, Record<string, string>, string]>([
    ['machine-id', { 'etc/machine-id': `${ID}\n` }, ID],
    ['file:/srv/id', { 'srv/id': 'host-7\n', 'etc/machine-id': ID }, 'host-7'],
    ['dmi', { [DMI]: `${UUID}\n` }, UUID],
    ['dmi', { [DMI]: UUID.toUpperCase() }, UUID], // kernels differ in case
    ['dmi', { [COPY]: UUID }, UUID], // what the unit leaves, as only root may read the first
    ['cloud', { [INSTANCE]: 'i-0abc\n' }, 'i-0abc'],
    [
      'cloud',
      { [DATA]: '{"v1":{"instance_id":"i-new","x":1}}', [INSTANCE]: 'i-of-the-copied-disk' },
      'i-new',
    ],
    ['cloud', { [DATA]: '{"v1":', [INSTANCE]: 'i-0abc' }, 'i-0abc'],
    ['machine-id+dmi', { 'etc/machine-id': ID, [DMI]: UUID }, both],
  ])('%s of %j', (source, files, machineId) => {
    using host = hostRoot(files);
    const sha256 = createHash('sha256').update(machineId).digest('hex');
    expect(readMachineId(source, host.root)).toEqual({ ok: true, machineId, sha256 });
  });

  test('a disk copied to other hardware is another machine under machine-id+dmi, not under machine-id (T3)', () => {
    using original = hostRoot({ 'etc/machine-id': ID, [DMI]: UUID });
    using copy = hostRoot({ 'etc/machine-id': ID, [DMI]: UUID.replace('4c', '5c') });
    const differs = (source: MachineIdSource) =>
      JSON.stringify(readMachineId(source, original.root)) !==
      JSON.stringify(readMachineId(source, copy.root));
    expect([differs('machine-id'), differs('machine-id+dmi')]).toEqual([false, true]);
  });

  test('a link is followed, as some systems keep the file elsewhere', () => {
    using host = hostRoot({ 'etc/x': '', 'var/lib/dbus/machine-id': ID });
    symlinkSync(join(host.root, 'var/lib/dbus/machine-id'), join(host.root, 'etc/machine-id'));
    expect(readMachineId('machine-id', host.root)).toMatchObject({ ok: true, machineId: ID });
  });
});

describe('a source that names no machine is refused, never guessed at', () => {
  test.each<[string, MachineIdSource, Record<string, string>, RegExp]>([
    ['no file', 'machine-id', {}, /ENOENT/],
    ['an empty file', 'machine-id', { 'etc/machine-id': '\n' }, /no machine id/],
    ['the first boot', 'machine-id', { 'etc/machine-id': 'uninitialized\n' }, /no machine id/],
    ['white space within', 'file:/srv/id', { 'srv/id': 'two words' }, /1 to 128 visible/],
    ['too long', 'file:/srv/id', { 'srv/id': 'x'.repeat(129) }, /1 to 128 visible/],
    ['far too long', 'file:/srv/id', { 'srv/id': 'x'.repeat(1_048_577) }, /larger than/],
    ['a folder', 'file:/srv', { 'srv/id': 'x' }, /not a regular file/],
    ['no firmware id', 'dmi', {}, /run\/tidegate/],
    ['a placeholder', 'dmi', { [DMI]: 'Not Settable', [COPY]: UUID }, /placeholder/],
    ['no cloud', 'cloud', {}, /no instance id/],
    ['cloud-init without a cloud', 'cloud', { [INSTANCE]: 'iid-datasource-none' }, /no cloud instance/],
    ['only one of two', 'machine-id+dmi', { 'etc/machine-id': ID }, /product_uuid/],
    ['only the other', 'machine-id+dmi', { [DMI]: UUID }, /etc\/machine-id/],
    ['one of two a placeholder', 'machine-id+dmi', { 'etc/machine-id': ID, [DMI]: '' }, /placeholder/],
  ])('%s', (_, source, files, detail) => {
    using host = hostRoot(files);
    expect(readMachineId(source, host.root)).toEqual({ ok: false, detail: expect.stringMatching(detail) });
  });
});
