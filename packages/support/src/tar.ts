/** An entry of a tar archive; `path` is from its root, without the first slash. */
export type TarEntry = { path: string; mode: number; owner: number } & (
  | { kind: 'file'; bytes: Uint8Array }
  | { kind: 'folder' }
  | { kind: 'link'; to: string }
);

const BLOCK = 512;
const TYPES = { file: '0', link: '2', folder: '5' } as const;

/**
 * An archive in the ustar form of POSIX, the entries in the order given, users and groups with the same number.
 * @throws RangeError for a path or target that is longer than ustar allows
 */
export function packTar(entries: readonly TarEntry[], epochSeconds: number): Buffer {
  const parts = entries.flatMap((entry) => {
    const bytes = entry.kind === 'file' ? entry.bytes : new Uint8Array();
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [headerOf(entry, bytes.length, epochSeconds), bytes, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/** POSIX.1-2017, pax: "ustar Interchange Format". */
function headerOf(entry: TarEntry, size: number, epochSeconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const { name, prefix } = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  text(0, 100, name);
  octal(100, 8, entry.mode);
  octal(108, 8, entry.owner);
  octal(116, 8, entry.owner);
  octal(124, 12, size);
  octal(136, 12, epochSeconds);
  text(148, 8, ' '.repeat(8));
  text(156, 1, TYPES[entry.kind]);
  text(157, 100, entry.kind === 'link' ? entry.to : '');
  text(257, 6, 'ustar\0');
  text(263, 2, '00');
  octal(329, 8, 0);
  octal(337, 8, 0);
  text(345, 155, prefix);
  const sum = header.reduce((total, byte) => total + byte, 0);
  text(148, 8, `${sum.toString(8).padStart(6, '0')}\0 `);
  return header;

  function text(at: number, length: number, value: string): void {
    const bytes = Buffer.from(value, 'utf8');
    if (bytes.length > length)
      throw new RangeError(`${entry.path}: ${JSON.stringify(value)} is too long for ustar`);
    bytes.copy(header, at);
  }

  function octal(at: number, length: number, value: number): void {
    text(at, length, `${value.toString(8).padStart(length - 1, '0')}\0`);
  }
}

/** A path longer than the field of the name is divided at a slash. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  const slashes = [...path.matchAll(/\/(?!$)/g)].map(({ index }) => index);
  const at = slashes.find((index) => Buffer.byteLength(path.slice(index + 1)) <= 100);
  if (at === undefined) throw new RangeError(`${path} is too long for ustar`);
  return { name: path.slice(at + 1), prefix: path.slice(0, at) };
}
