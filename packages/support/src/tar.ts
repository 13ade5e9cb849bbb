const BLOCK_BYTES = 512;
const NAME_MAX_BYTES = 100;

/** A file of an archive; `name` has at most 100 ASCII characters. */
export interface TarFile {
  name: string;
  content: Buffer;
}

/** An archive in the ustar form of POSIX.1-1988, every file with mode 0600. @throws RangeError for a longer name. */
export function packTar(files: readonly TarFile[], mtimeSeconds: number): Buffer {
  const entries = files.flatMap(({ name, content }) => {
    const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
    return [headerOf({ name, sizeBytes: content.length, mtimeSeconds }), content, padding];
  });
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function headerOf(file: { name: string; sizeBytes: number; mtimeSeconds: number }): Buffer {
  if (Buffer.byteLength(file.name) > NAME_MAX_BYTES) throw new RangeError('the name is too long for ustar');
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${Math.floor(value).toString(8).padStart(digits, '0')}\0`;
  header.write(file.name, 0);
  header.write(octal(0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(file.sizeBytes, 11), 124);
  header.write(octal(file.mtimeSeconds, 11), 136);
  header.fill(' ', 148, 156);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
