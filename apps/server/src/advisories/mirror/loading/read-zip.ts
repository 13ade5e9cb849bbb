import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, openPromise } from 'yauzl';

/** Bounds of an untrusted archive, in bytes and entries; beyond one of them it is rejected. */
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
  /** Number of entries that the archive states. */
  readonly count: number;
  /** Null when larger than the limit for entries. */
  readonly bytes: Buffer | null;
}

/** A broken archive, or one beyond its bounds. */
export class ZipFault extends Error {
  override name = 'ZipFault';
}

/**
 * Yields the files of an archive one at a time, with only one in memory. Unpacked bytes are counted as they come,
 * whatever sizes the archive states. @throws ZipFault
 */
export async function* readZip(path: string, limits: ZipLimits = ZIP_LIMITS): AsyncGenerator<ZipEntry> {
  const zip = await asZipFault(openPromise(path, { lazyEntries: true, autoClose: false }));
  try {
    if (zip.entryCount > limits.entries) throw new ZipFault(`more than ${limits.entries} entries`);
    let total = 0;
    const entries = zip.eachEntry();
    for (;;) {
      const { done, value: entry } = await asZipFault(entries.next());
      if (done) return;
      if (entry.fileName.endsWith('/')) continue;
      if (entry.uncompressedSize > limits.entryBytes) {
        yield { name: entry.fileName, count: zip.entryCount, bytes: null };
        continue;
      }
      const stream = await asZipFault(zip.openReadStreamPromise(entry));
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
    const { done, value } = await asZipFault(iterator.next());
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
  throw new ZipFault(`${entry.fileName.slice(0, 100)} differs from the archive's own directory`);
}

function tooLarge(entry: Entry, { entryBytes }: ZipLimits): ZipFault {
  return new ZipFault(`${entry.fileName.slice(0, 100)} has more than ${entryBytes} bytes`);
}

async function asZipFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ZipFault(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
