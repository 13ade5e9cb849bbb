import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deviceOf, isReplaced, type MappedFile, parseMaps } from './maps-rules.ts';

const line = (rest: string, permissions = 'r-xp') => `7f00-7f10 ${permissions} 00000000 ${rest}`;

test.each([
  ['an executable mapping', line('fe:00 12   /usr/lib/libssl.so.3'), ['/usr/lib/libssl.so.3']],
  ['a deleted one', line('fe:00 12   /usr/lib/libssl.so.3 (deleted)'), ['/usr/lib/libssl.so.3 deleted']],
  ['data', line('fe:00 12 /usr/lib/locale/locale-archive (deleted)', 'r--p'), []],
  ['anonymous memory', line('00:00 0 '), []],
  ['the stack and vdso', `${line('00:00 0 [vdso]')}\n${line('00:00 0 [stack]')}`, []],
  ['memfd', line('00:01 7 /memfd:jit (deleted)'), []],
  ['System V memory', line('00:01 7 /SYSV00000000 (deleted)'), []],
  ['compiled code in /tmp', line('fe:00 9 /tmp/.mount_jit (deleted)'), []],
  ['/dev/zero', line('00:05 9 /dev/zero (deleted)'), []],
  ['a name with spaces', line('fe:00 9 /opt/my app/run it (deleted)'), ['/opt/my app/run it deleted']],
  ['a line feed in a name, as the kernel writes it', line('fe:00 9 /opt/a\\012b'), ['/opt/a\\012b']],
  [
    'a name like a mapping',
    line(`fe:00 9 /opt/${line('fe:00 1 /usr/x')}`),
    [`/opt/${line('fe:00 1 /usr/x')}`],
  ],
  ['text that is cut', '7f00-7f10 r-xp 0000', []],
  ['nonsense', 'x\n\n\0\n12', []],
])('of %s', (_, text, files) => {
  expect(parseMaps(text).map(({ path, isDeleted }) => `${path}${isDeleted ? ' deleted' : ''}`)).toEqual(
    files,
  );
});

test('a file with several mappings counts once', () => {
  const one = line('fe:00 12 /usr/bin/x');
  expect(parseMaps(`${one}\n${one}`)).toEqual([
    { path: '/usr/bin/x', isDeleted: false, device: '254:0', inode: '12' },
  ]);
});

const mapped = (path: string, isDeleted: boolean): MappedFile => ({
  ...{ path, isDeleted, device: '254:0', inode: '12' },
});
const ME = { device: '254:0', inode: '12' };
const OTHER = { device: '254:0', inode: '13' };

test.each([
  ['deleted, and another file has the name', mapped('/usr/lib/a.so', true), { '/usr/lib/a.so': OTHER }, true],
  ['deleted, and the name is gone', mapped('/usr/lib/a.so', true), {}, true],
  ['really named "a.so (deleted)"', mapped('/usr/lib/a.so', true), { '/usr/lib/a.so (deleted)': ME }, false],
  [
    'a decoy named "a.so (deleted)"',
    mapped('/usr/lib/a.so', true),
    { '/usr/lib/a.so (deleted)': OTHER },
    true,
  ],
  ['unchanged', mapped('/usr/lib/a.so', false), { '/usr/lib/a.so': ME }, false],
  ['another inode under the name', mapped('/usr/lib/a.so', false), { '/usr/lib/a.so': OTHER }, true],
  [
    'on a stacked file system',
    mapped('/usr/lib/a.so', false),
    { '/usr/lib/a.so': { device: '0:40', inode: '9' } },
    false,
  ],
  ['not to be found from here', mapped('/usr/lib/a.so', false), {}, false],
  ['deleted in a place of other users', mapped('/srv/app/a.so', true), {}, true],
  ['unchanged in such a place', mapped('/srv/app/a.so', false), { '/srv/app/a.so': OTHER }, false],
])('a mapped file that is %s: %s', (_, file, disk, replaced) => {
  const asked: string[] = [];
  const lookUp = (path: string) => {
    asked.push(path);
    return new Map(Object.entries<typeof ME>(disk)).get(path) ?? null;
  };
  expect(isReplaced(file, lookUp)).toBe(replaced);
  expect(asked.every((path) => path.startsWith('/usr/'))).toBe(true);
});

test('the device of a file is written as the kernel writes it', () => {
  expect(deviceOf(0xfe00n)).toBe('254:0');
  expect(deviceOf(0x10300n)).toBe('259:0'); // minor 0, major 259
  expect(deviceOf(statSync('/', { bigint: true }).dev)).toMatch(/^\d+:\d+$/);
});
