import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { MANIFEST_MAX_BYTES } from '../ecosystems/npm/tree.ts';

const BLOCK_BYTES = 512;
/** Most that one tarball may unpack to, in bytes. */
export const UNPACKED_MAX_BYTES = 4 * 1024 ** 3;

/** What a tarball of npm says of itself. */
export interface TarballFacts {
  /** Its package.json, as text. */
  manifest: string;
  hasShrinkwrap: boolean;
  /** npm builds what brings this file, as if it had an install script. */
  hasGyp: boolean;
}

export type TarballOutcome = { ok: true; facts: TarballFacts } | { ok: false; reason: string };

/** Reads the package.json of a tarball without unpacking it; never more of it in memory than that file. */
export async function readTarball(path: string, maxBytes = UNPACKED_MAX_BYTES): Promise<TarballOutcome> {
  const reader = createReader();
  const source = createReadStream(path);
  const unpacked = source.pipe(createGunzip());
  source.once('error', (error) => unpacked.destroy(error));
  let total = 0;
  try {
    for await (const chunk of unpacked) {
      const bytes: Buffer = chunk;
      total += bytes.length;
      if (total > maxBytes) return { ok: false, reason: 'the tarball unpacks to more than is allowed' };
      const fault = reader.add(bytes);
      if (fault !== null) return { ok: false, reason: fault };
    }
  } catch (error) {
    return {
      ok: false,
      reason: `the tarball cannot be unpacked (${error instanceof Error ? error.message : 'damaged'})`,
    };
  } finally {
    source.destroy();
  }
  return reader.end();
}

/** Takes an archive in pieces of any size. */
function createReader() {
  let rest = Buffer.alloc(0);
  /** Bytes of the current file that are still to come, with what fills its last block. */
  let left = 0;
  let kept: { bytes: Buffer[]; size: number } | null = null;
  let manifest: string | null = null;
  let hasShrinkwrap = false;
  let hasGyp = false;

  function startFile(header: Buffer): string | null {
    const size = sizeOf(header);
    if (size === null) return 'the tarball has a damaged header';
    left = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    // As npm unpacks: whatever the outermost folder is called, it is left away.
    const name = pathOf(header).split('/').slice(1).join('/');
    if (name === 'npm-shrinkwrap.json') hasShrinkwrap = true;
    if (name === 'binding.gyp') hasGyp = true;
    if (name !== 'package.json') return null;
    if (manifest !== null || kept !== null) return 'the tarball has two package.json';
    if (size > MANIFEST_MAX_BYTES) return `the package.json is larger than ${MANIFEST_MAX_BYTES} bytes`;
    kept = { bytes: [], size };
    if (size === 0) manifest = '';
    return null;
  }

  function takeContent(bytes: Buffer): void {
    left -= bytes.length;
    if (kept === null) return;
    kept.bytes.push(bytes);
    if (left > 0) return;
    manifest = Buffer.concat(kept.bytes).subarray(0, kept.size).toString('utf8');
    kept = null;
  }

  return {
    add(chunk: Buffer): string | null {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (;;) {
        if (left > 0) {
          const part = bytes.subarray(0, left);
          bytes = bytes.subarray(part.length);
          takeContent(part);
          if (left > 0) break;
        }
        if (bytes.length < BLOCK_BYTES) break;
        const header = bytes.subarray(0, BLOCK_BYTES);
        bytes = bytes.subarray(BLOCK_BYTES);
        if (header.every((byte) => byte === 0)) continue; // the end of the archive
        const fault = startFile(header);
        if (fault !== null) return fault;
      }
      rest = Buffer.from(bytes);
      return null;
    },
    end(): TarballOutcome {
      if (left > 0 || rest.length > 0)
        return { ok: false, reason: 'the tarball ends in the middle of a file' };
      if (manifest === null) return { ok: false, reason: 'the tarball has no package.json' };
      return { ok: true, facts: { manifest, hasShrinkwrap, hasGyp } };
    },
  };
}

function pathOf(header: Buffer): string {
  const isUstar = header.toString('latin1', 257, 262) === 'ustar';
  const prefix = isUstar ? textAt(header, 345, 155) : '';
  return prefix === '' ? textAt(header, 0, 100) : `${prefix}/${textAt(header, 0, 100)}`;
}

/** Octal digits; the binary form of larger numbers is past every limit here. */
function sizeOf(header: Buffer): number | null {
  const text = textAt(header, 124, 12).trim();
  return /^[0-7]{1,11}$/.test(text) ? Number.parseInt(text, 8) : null;
}

function textAt(header: Buffer, at: number, length: number): string {
  const end = header.indexOf(0, at);
  return header.toString('utf8', at, end === -1 || end > at + length ? at + length : end);
}
