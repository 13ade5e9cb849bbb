import { expect, test } from 'vitest';
import { codeMappings, openSpareMemory } from './spare-memory.ts';

const PROGRAM = '/usr/bin/tidegate-agent';

/** A mapping as /proc/self/smaps tells of it, with so many kilobytes that are this process's own. */
function mapping(range: string, mode: string, path: string, ownKb = 0): string {
  return `${range} ${mode} 00001000 fe:00 1234${' '.repeat(20)}${path}\nSize: 4 kB\nRss: 4 kB\nAnonymous:         ${ownKb} kB\nAnonHugePages:  0 kB\n`;
}

test('only unchanged code of the program file itself is let go of', () => {
  const smaps = [
    mapping('00200000-00300000', 'r--p', PROGRAM),
    mapping('00300000-00700000', 'r-xp', PROGRAM),
    mapping('00700000-00710000', 'r--p', PROGRAM, 64), // relocated at the start: it is in no file
    mapping('00710000-00720000', 'rw-p', PROGRAM),
    mapping('00720000-00730000', 'rwxp', PROGRAM),
    mapping('00800000-00900000', 'r-xp', '/usr/lib/libc.so.6'), // another mapping might have taken its place by then
    mapping('00900000-00a00000', 'r-xp', `${PROGRAM}.so`),
    mapping('00a00000-00b00000', 'rw-p', ''),
    mapping('00b00000-00c00000', 'r-xp', '[vdso]'),
  ].join('');
  expect(codeMappings(smaps, PROGRAM)).toEqual([
    { start: 0x200000n, length: 0x100000n },
    { start: 0x300000n, length: 0x400000n },
  ]);
});

test('a program file that was replaced or has an odd name is still known by its name', () => {
  const replaced = `${PROGRAM} (deleted)`;
  const smaps = mapping('7f00aa300000-7f00aa400000', 'r-xp', replaced);
  expect(codeMappings(smaps, replaced)).toEqual([{ start: 0x7f00aa300000n, length: 0x100000n }]);
  expect(codeMappings(smaps, '')).toEqual([]);
});

test('the code that was let go of runs on', async () => {
  const spare = await openSpareMemory();
  for (let i = 0; i < 3; i += 1) {
    spare.collectGarbage();
    spare.releaseCode();
    expect(JSON.parse(JSON.stringify({ i }))).toEqual({ i });
  }
});
