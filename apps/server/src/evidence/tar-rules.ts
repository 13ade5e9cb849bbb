/** Bytes of a header, and the unit to which every file is filled up with zeros. */
export const TAR_BLOCK = 512;
/** Every file lies in this folder, so that unpacking leaves one folder behind. */
const FOLDER = 'evidence';
/** Names of files: two folders at most, no dots but those before the ending. */
const NAME = /^(?=.{1,99}$)([a-z]+\/){0,2}[A-Za-z0-9]+\.[a-z]+$/;
const SIZE_MAX_BYTES = 0o77777777777;

export function isBundleName(name: string): boolean {
  return NAME.test(name);
}

/** The one header (POSIX ustar) that a bundle has for a file: no time, owner or other choice in it. */
export function tarHeader({ name, bytes }: { name: string; bytes: number }): Buffer {
  if (!isBundleName(name) || !Number.isSafeInteger(bytes) || bytes < 0 || bytes > SIZE_MAX_BYTES)
    throw new RangeError(`a bundle holds no file ${JSON.stringify(name)} of ${bytes} bytes`);
  const header = Buffer.alloc(TAR_BLOCK);
  header.write(name, 0, 'latin1');
  for (const [at, text] of FIXED) header.write(text, at, 'latin1');
  header.write(bytes.toString(8).padStart(11, '0'), 124, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

const FIXED: readonly (readonly [number, string])[] = [
  [100, '0000644\0'],
  [108, '0000000\0'],
  [116, '0000000\0'],
  [136, '00000000000\0'],
  [156, '0'],
  [257, 'ustar\u000000'],
  [329, '0000000\0'],
  [337, '0000000\0'],
  [345, FOLDER],
];

/** What a header says of its file; null unless it is exactly the header that `tarHeader` makes of that. */
export function readTarHeader(header: Buffer): { name: string; bytes: number } | null {
  const end = header.indexOf(0);
  if (header.length !== TAR_BLOCK || end === -1 || end > 99) return null;
  const name = header.toString('latin1', 0, end);
  const size = header.toString('latin1', 124, 135);
  if (!isBundleName(name) || !/^[0-7]{11}$/.test(size)) return null;
  const file = { name, bytes: Number.parseInt(size, 8) };
  return tarHeader(file).equals(header) ? file : null;
}

/** Zeros between the end of a file and the next block. */
export function paddingOf(bytes: number): number {
  return (TAR_BLOCK - (bytes % TAR_BLOCK)) % TAR_BLOCK;
}
