import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, openPromise } from 'yauzl';

/** Bounds of an archive that comes from outside, in bytes and entries; past one of them it is none. */
export interface ZipLimits {
  readonly entries: number;
  readonly entryBytes: number;
  readonly totalBytes: number;
}

export const ZIP_LIMITS: ZipLimits = {
  entries: 2_000_000,
  // The largest records, of kernels, have a few megabytes.
  entryBytes: 32 * 1024 * 1024,
  totalBytes: 32 * 1024 * 1024 * 1024,
};

export interface ZipEntry {
  readonly name: string;
  /** How many entries the archive says it has. */
  readonly count: number;
  /** Null where it is larger than an entry may be. */
  readonly bytes: Buffer | null;
}

/** An archive that is broken, or larger than its bounds. */
export class ZipFault extends Error {
  override name = 'ZipFault';
}

/**
 * The files of an archive, one at a time: never more than one of them is in memory. What is unpacked is counted as it
 * comes, whatever the archive says of itself. @throws ZipFault
 */
export async function* readZip(path: string, limits: ZipLimits = ZIP_LIMITS): AsyncGenerator<ZipEntry> {
  const zip = await told(openPromise(path, { lazyEntries: true, autoClose: false }));
  try {
    if (zip.entryCount > limits.entries) throw new ZipFault(`more than ${limits.entries} entries`);
    let total = 0;
    const entries = zip.eachEntry();
    for (;;) {
      const { done, value: entry } = await told(entries.next());
      if (done) return;
      if (entry.fileName.endsWith('/')) continue;
      if (entry.uncompressedSize > limits.entryBytes) {
        yield { name: entry.fileName, count: zip.entryCount, bytes: null };
        continue;
      }
      const stream = await told(zip.openReadStreamPromise(entry));
      const bytes = await read(entry, stream, limits);
      total += bytes.length;
      if (total > limits.totalBytes) throw new ZipFault(`more than ${limits.totalBytes} bytes unpacked`);
      yield { name: entry.fileName, count: zip.entryCount, bytes };
    }
  } finally {
    zip.close();
  }
}

async function read(entry: Entry, stream: Readable, limits: ZipLimits): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const iterator: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await told(iterator.next());
    if (done) return whole(entry, Buffer.concat(pieces));
    bytes += value.length;
    if (bytes > limits.entryBytes) {
      stream.destroy();
      throw tooLarge(entry, limits);
    }
    pieces.push(value);
  }
}

function whole(entry: Entry, bytes: Buffer): Buffer {
  if (crc32(bytes) === entry.crc32) return bytes;
  throw new ZipFault(`${entry.fileName.slice(0, 100)} is not what the archive says it is`);
}

function tooLarge(entry: Entry, { entryBytes }: ZipLimits): ZipFault {
  return new ZipFault(`${entry.fileName.slice(0, 100)} has more than ${entryBytes} bytes`);
}

async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ZipFault(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
