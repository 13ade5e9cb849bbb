import { crc32 } from 'node:zlib';

/** One file of an archive, as its bytes. */
export type ZipEntry = { path: string; content: string | Uint8Array };

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL = 0x06054b50;
/** 1980-01-01, the first day that the format knows: archives of the same words have the same hash. */
const FIRST_DAY = 0x0021;
/** A plain file with mode 0644, made on Unix. */
const PLAIN_FILE = (0o100644 << 16) >>> 0;
const MADE_ON_UNIX = (3 << 8) | 20;

/** Writes a zip archive without compression, the same bytes each time. Paths are taken as they are, good or hostile. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content } of entries) {
    const name = Buffer.from(path);
    const data = Buffer.from(content);
    const common = Buffer.alloc(26); // what both headers hold, from "version needed" on
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(FIRST_DAY, 8);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([signature(LOCAL_HEADER), common, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(PLAIN_FILE, 6);
    tail.writeUInt32LE(offset, 10);
    const version = Buffer.alloc(2);
    version.writeUInt16LE(MADE_ON_UNIX);
    directory.push(Buffer.concat([signature(CENTRAL_HEADER), version, common, tail, name]));
    files.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, central, signature(END_OF_CENTRAL), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
