import { expect, test } from 'vitest';
import { FILE_MAX_BYTES } from './bundle-form.ts';
import { listBundle } from './open-bundle.ts';
import { isBundleName, paddingOf, readTarHeader, TAR_BLOCK, tarHeader } from './tar-rules.ts';
import { FaultyBundle } from './verify-fault.ts';

const END = Buffer.alloc(2 * TAR_BLOCK);

function fileOf(name: string, text = 'x'): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([
    tarHeader({ name, bytes: bytes.length }),
    bytes,
    Buffer.alloc(paddingOf(bytes.length)),
  ]);
}

function listed(...parts: readonly Buffer[]) {
  const bytes = Buffer.concat(parts);
  return listBundle({ size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) });
}

function faultOf(...parts: readonly Buffer[]) {
  try {
    listed(...parts);
    return null;
  } catch (error) {
    if (!(error instanceof FaultyBundle)) throw error;
    return [error.fault.file, error.fault.detail];
  }
}

/** A header with other bytes in it, and the sum that fits them. */
function altered(header: Buffer, at: number, text: string): Buffer {
  const copy = Buffer.from(header);
  copy.write(text, at, 'latin1');
  copy.fill(' ', 148, 156);
  const sum = copy.reduce((total, byte) => total + byte, 0);
  copy.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return copy;
}

const manifest = fileOf('manifest.json', '{}');

test('files are listed in their order, with the manifest last', () => {
  expect(listed(fileOf('README.txt'), fileOf('lines/keys/0001.ndjson', ''), manifest, END)).toEqual([
    { name: 'README.txt', bytes: 1, at: 512 },
    { name: 'lines/keys/0001.ndjson', bytes: 0, at: 1536 },
    { name: 'manifest.json', bytes: 2, at: 2048 },
  ]);
});

const header = tarHeader({ name: 'README.txt', bytes: 1 });
const rest = Buffer.alloc(TAR_BLOCK);
const NO_HEADER = ['the archive at byte 0', 'here is no header of a file as a bundle has it'];

test.each([
  ['a link', altered(header, 156, '2')],
  ['another mode', altered(header, 100, '0004755\0')],
  ['a time', altered(header, 136, '00000000001\0')],
  ['an owner', altered(header, 265, 'root')],
  ['another folder', altered(header, 345, 'elsewhere')],
  ['a name that leaves the folder', altered(header, 0, '../../x.t\0')],
  ['an absolute name', altered(header, 0, '/etc/pass.w')],
  ['a size in another form', altered(header, 124, '0000000001 \0')],
  ['bytes behind the name', altered(header, 40, 'x')],
])('%s in a header is refused, with a sum that fits', (_what, changed) => {
  expect(faultOf(changed, rest, manifest, END)).toEqual(NO_HEADER);
});

test('an archive that could grow, repeats itself or goes on is refused with its place', () => {
  const huge = tarHeader({ name: 'README.txt', bytes: FILE_MAX_BYTES + 1 });
  expect(faultOf(huge, END)?.[1]).toContain(`at most ${FILE_MAX_BYTES} are allowed`);
  expect(faultOf(tarHeader({ name: 'README.txt', bytes: 9_000 }), END)).toEqual([
    ...['README.txt', 'the archive ends within it'],
  ]);
  expect(faultOf(fileOf('README.txt'), fileOf('README.txt'), manifest, END)).toEqual([
    ...['README.txt', 'is in the archive twice'],
  ]);
  const filled = Buffer.concat([header, Buffer.from('x'), Buffer.alloc(510), Buffer.from('y')]);
  expect(faultOf(filled, manifest, END)).toEqual(['README.txt', 'the filling behind it is not zeros']);
  expect(faultOf(manifest, END, Buffer.from('more'))?.[0]).toBe('the archive at byte 1024');
  expect(faultOf(manifest, fileOf('README.txt'), END)).toEqual(['manifest.json', 'is not the last file']);
  expect(faultOf(manifest, Buffer.alloc(TAR_BLOCK))?.[0]).toBe('the archive at byte 1024');
});

test.each(['a.txt', 'lines/events/0001.ndjson', 'figures.ndjson'])('%s is a name', (name) => {
  expect(isBundleName(name)).toBe(true);
  expect(readTarHeader(tarHeader({ name, bytes: 7 }))).toEqual({ name, bytes: 7 });
});

test.each([
  '',
  '.x',
  'a',
  '../a.txt',
  '/a.txt',
  'a/b/c/d.txt',
  'a..txt',
  'a.txt.',
  `${'a'.repeat(96)}.txt`,
  'ü.txt',
])('%j is none', (name) => {
  expect(isBundleName(name)).toBe(false);
});
