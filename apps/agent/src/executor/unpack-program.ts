import { closeSync, constants, createReadStream, fchmodSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { createGunzip } from 'node:zlib';
import { lackOfSpace } from '../platform/disk-space.ts';
import { errorCode } from '../platform/file-layer.ts';

const BLOCK = 512;
const ENTRIES_MAX = 1_000;
/** Largest archive, unpacked: the program is 115 MB. */
const UNPACKED_MAX_BYTES = 1024 ** 3;
const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export type UnpackOutcome = { ok: true } | { ok: false; detail: string };

class BadArchive extends Error {}

/**
 * Writes one regular file of a tar.gz to a new path and nothing else. The whole archive is read, and refused for
 * anything that a release does not hold: links, devices, the file twice, more than the limits.
 */
export async function unpackProgram(
  archive: string,
  { member, to }: { member: string; to: string },
): Promise<UnpackOutcome> {
  const gunzip = createReadStream(archive)
    .on('error', (error) => gunzip.destroy(error))
    .pipe(createGunzip());
  try {
    const found = await unpack(openTar(gunzip), { member, to });
    return found ? { ok: true } : refuse(`it has no ${member}`);
  } catch (error) {
    if (error instanceof BadArchive) return refuse(error.message);
    return refuse(`it cannot be unpacked (${errorCode(error)})`);
  } finally {
    gunzip.destroy();
  }
}

async function unpack(tar: Tar, { member, to }: { member: string; to: string }): Promise<boolean> {
  let found = false;
  for (let entries = 0; ; entries += 1) {
    const header = readHeader(await tar.take(BLOCK));
    if (header === null) break;
    if (entries >= ENTRIES_MAX) throw new BadArchive(`it has more than ${ENTRIES_MAX} entries`);
    const padding = (BLOCK - (header.size % BLOCK)) % BLOCK;
    if (header.path !== member) {
      await tar.skip(header.size + padding);
      continue;
    }
    if (found) throw new BadArchive(`it has ${member} twice`);
    if (header.isFolder) throw new BadArchive(`its ${member} is a folder`);
    found = true;
    await writeProgram(tar, { to, size: header.size });
    await tar.skip(padding);
  }
  await tar.expectZeros();
  return found;
}

async function writeProgram(tar: Tar, { to, size }: { to: string; size: number }): Promise<void> {
  const lack = lackOfSpace(dirname(to), size);
  if (lack !== null) throw new BadArchive(`its program ${lack}`);
  const file = openSync(to, CREATE_NEW, 0o755);
  try {
    await tar.each(size, (bytes) => {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    });
    fchmodSync(file, 0o755);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

interface Tar {
  take(bytes: number): Promise<Buffer>;
  skip(bytes: number): Promise<void>;
  each(bytes: number, use: (chunk: Buffer) => void): Promise<void>;
  /** What follows the end is padding. */
  expectZeros(): Promise<void>;
}

function openTar(stream: AsyncIterable<Buffer>): Tar {
  const chunks = stream[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let total = 0;

  async function more(): Promise<boolean> {
    const next = await chunks.next();
    if (next.done === true) return false;
    held = next.value;
    total += held.length;
    if (total > UNPACKED_MAX_BYTES)
      throw new BadArchive(`it unpacks to more than ${UNPACKED_MAX_BYTES} bytes`);
    return true;
  }

  async function each(bytes: number, use: (chunk: Buffer) => void): Promise<void> {
    for (let left = bytes; left > 0; ) {
      if (held.length === 0 && !(await more())) throw new BadArchive('it is cut off');
      const chunk = held.subarray(0, left);
      held = held.subarray(chunk.length);
      left -= chunk.length;
      use(chunk);
    }
  }

  return {
    each,
    skip: (bytes) => each(bytes, () => {}),
    take: async (bytes) => {
      const parts: Buffer[] = [];
      await each(bytes, (chunk) => parts.push(chunk));
      return Buffer.concat(parts);
    },
    expectZeros: async () => {
      do {
        if (held.some((byte) => byte !== 0)) throw new BadArchive('it has something behind its end');
        held = Buffer.alloc(0);
      } while (await more());
    },
  };
}

/** POSIX.1-2017, pax: "ustar Interchange Format". Null at the end of the archive. */
function readHeader(block: Buffer): { path: string; size: number; isFolder: boolean } | null {
  if (block.every((byte) => byte === 0)) return null;
  const text = (at: number, length: number) => {
    const field = block.subarray(at, at + length);
    const end = field.indexOf(0);
    return field.subarray(0, end < 0 ? length : end).toString('utf8');
  };
  const octal = (at: number, length: number) => {
    const digits = text(at, length).trim();
    if (!/^[0-7]{1,12}$/.test(digits)) throw new BadArchive('a number in it cannot be read');
    return Number.parseInt(digits, 8);
  };
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (text(257, 5) !== 'ustar' || octal(148, 8) !== sum) throw new BadArchive('it is no tar archive');
  const kind = text(156, 1);
  const path = [text(345, 155), text(0, 100)].filter((part) => part !== '').join('/');
  if (kind !== '0' && kind !== '5') {
    throw new BadArchive(`${JSON.stringify(path)} in it is neither a file nor a folder`);
  }
  const size = octal(124, 12);
  if (kind === '5' && size !== 0) throw new BadArchive(`its folder ${JSON.stringify(path)} has a content`);
  return { path, size, isFolder: kind === '5' };
}

function refuse(why: string): UnpackOutcome {
  return { ok: false, detail: `the archive is not used: ${why}` };
}
