import { expect, test } from 'vitest';
import { isMachineIdMounted, parseMounts, readInstanceId, readProductUuid } from './hardware-id-rules.ts';

test.each([
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  'fefefefe-fefe-fefe-fefe-fefefefefefe',
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90AB-CDDEEFAABBCC',
  '4C4C4544-0000-2010-8020-80C04F202020',
  'Not Settable',
  'Not Present',
  'To be filled by O.E.M.',
  '',
  '4c4c4544-0043-3510-8052-b4c04f4d313',
])('firmware that says %j says nothing of the machine', (text) => {
  expect(readProductUuid(text)).toBeNull();
});

test('a product UUID is one however the kernel prints it', () => {
  expect(readProductUuid(' 4C4C4544-0043-3510-8052-B4C04F4D3132\n')).toBe(
    '4c4c4544-0043-3510-8052-b4c04f4d3132',
  );
});

test.each([
  ['i-0abc\n', 'i-0abc'],
  ['iid-datasource-none', null],
  ['NoCloud', null],
  ['iid-local01', null],
  [' ', null],
])('instance id %j is %j', (text, id) => {
  expect(readInstanceId(text)).toBe(id);
});

const line = (root: string, at: string, type: string) => `36 35 98:0 ${root} ${at} rw - ${type} /dev/x rw`;
test.each([
  ['nothing', '', false],
  ['files that every container has', line('/c/hostname', '/etc/hostname', 'ext4'), false],
  ['a file of its own', line('/srv/id', '/etc/machine-id', 'ext4'), true],
  ['a folder of its own', line('/srv/etc', '/etc', 'ext4'), true],
  ['a secret', line('/..data/machine-id', '/etc/machine-id', 'tmpfs'), true],
  ['the id of one boot', line('/machine-id', '/etc/machine-id', 'tmpfs'), false],
  ['a line that is none', '36 35\n\nx', false],
])('/etc/machine-id with %s mounted', (_, text, isMounted) => {
  expect(isMachineIdMounted(parseMounts(text))).toBe(isMounted);
});
