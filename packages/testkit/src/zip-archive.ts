import { crc32, deflateRawSync } from 'node:zlib';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
const UTF8_NAMES = 0x0800;

export type ZipFile = {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** What the archive says is the length of the content; its true one unless given (an archive that lies). */
  readonly saidLength?: number;
};

/** A ZIP archive in memory (APPNOTE.TXT, 4.3), stored or deflated. For fewer than 65,535 files and less than 4 GiB. */
export function zipArchive(files: readonly ZipFile[], { deflate = true } = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, saidLength } of files) {
    const raw = Buffer.from(content);
    const data = deflate ? deflateRawSync(raw) : raw;
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    common.writeUInt32LE(0x5a21_0000, 6); // 2025-01-01
    common.writeUInt32LE(crc32(raw), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(saidLength ?? raw.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const attributes = Buffer.alloc(14);
    attributes.writeUInt32LE(offset, 10);
    parts.push(uint32(LOCAL), common, nameBytes, data);
    directory.push(uint32(CENTRAL), uint16(VERSION), common, attributes, nameBytes);
    offset += 4 + common.length + nameBytes.length + data.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, uint32(END), end]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}
