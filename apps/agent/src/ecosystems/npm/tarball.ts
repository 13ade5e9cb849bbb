import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { MANIFEST_MAX_BYTES } from './tree.ts';

const BLOCK_BYTES = 512;
/** Maximum unpacked size of a tarball, in bytes. */
export const UNPACKED_MAX_BYTES = 4 * 1024 ** 3;

/** Maximum number of packages bundled in a tarball. */
export const BUNDLED_MAX_PACKAGES = 5_000;
/** Maximum total size of their package.json files, in bytes. */
export const BUNDLED_MAX_BYTES = 64 * 1024 * 1024;
/** Maximum size of an extended header, in bytes: a path and little else. */
const EXTENDED_MAX_BYTES = 64 * 1024;
const DAMAGED = 'the tarball has a damaged header';
/** The package.json of a bundled package, relative to the package around it. */
const BUNDLED_MANIFEST = /^((?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+)package\.json$/;

/** The metadata in an npm tarball. */
export interface TarballFacts {
  /** Its package.json, as text. */
  manifest: string;
  /** The package.json of each bundled package, by location: `node_modules/a/node_modules/b`. */
  bundled: ReadonlyMap<string, string>;
  hasShrinkwrap: boolean;
  /** npm builds packages with this file, as if they had an install script. */
  hasGyp: boolean;
}

export type TarballOutcome = { ok: true; facts: TarballFacts } | { ok: false; reason: string };

/** Reads the package.json files of a tarball without unpacking it; only these are held in memory. */
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
      if (total > maxBytes)
        return { ok: false, reason: `the unpacked tarball has more than ${maxBytes} bytes` };
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
  /** Remaining bytes of the current file, including the padding of its last block. */
  let left = 0;
  let kept: { bytes: Buffer[]; size: number; take: (text: string) => string | null } | null = null;
  /** The name that an extended header gives the next file. */
  let longPath: string | null = null;
  let manifest: string | null = null;
  const bundled = new Map<string, string>();
  let bundledBytes = 0;
  let hasShrinkwrap = false;
  let hasGyp = false;

  function startFile(header: Buffer): string | null {
    const size = sizeOf(header);
    if (size === null) return DAMAGED;
    const type = header[156] === 0 ? '0' : String.fromCharCode(header[156] ?? 0);
    if (type === 'x' || type === 'L') {
      left = blocksOf(size);
      return keep(size, { max: EXTENDED_MAX_BYTES, take: (text) => takeLongPath(type, text) });
    }
    const path = longPath ?? pathOf(header);
    longPath = null;
    // A folder has no content, whatever size its header states.
    const isFolder = type === '5' || path.endsWith('/');
    left = isFolder ? 0 : blocksOf(size);
    if (isFolder || (type !== '0' && type !== '7')) return null;
    // npm strips the outermost folder, whatever its name.
    const name = path.split('/').slice(1).join('/');
    if (name === 'npm-shrinkwrap.json') hasShrinkwrap = true;
    if (name === 'binding.gyp') hasGyp = true;
    if (name === 'package.json') {
      if (manifest !== null) return 'the tarball has two package.json';
      return keep(size, { max: MANIFEST_MAX_BYTES, take: takeManifest });
    }
    const inside = BUNDLED_MANIFEST.exec(name)?.[1]?.slice(0, -1);
    if (inside === undefined) return null;
    if (bundled.has(inside)) return `the tarball has two package.json at ${inside}`;
    bundledBytes += size;
    if (bundled.size >= BUNDLED_MAX_PACKAGES || bundledBytes > BUNDLED_MAX_BYTES) {
      return `the tarball bundles more than ${BUNDLED_MAX_PACKAGES} packages or ${BUNDLED_MAX_BYTES} bytes of package.json`;
    }
    return keep(size, { max: MANIFEST_MAX_BYTES, take: (text) => takeBundled(inside, text) });
  }

  function keep(
    size: number,
    { max, take }: { max: number; take: (text: string) => string | null },
  ): string | null {
    if (size > max) return `a header or package.json is larger than ${max} bytes`;
    if (size === 0) return take('');
    kept = { bytes: [], size, take };
    return null;
  }

  function takeManifest(text: string): null {
    manifest = text;
    return null;
  }

  function takeBundled(inside: string, text: string): null {
    bundled.set(inside, text);
    return null;
  }

  function takeLongPath(type: 'x' | 'L', text: string): string | null {
    if (type === 'L') {
      longPath = text.replace(/\0.*$/s, '');
      return null;
    }
    const records = extendedRecords(text);
    // A different size would shift the files that follow.
    if (records.has('size')) return DAMAGED;
    longPath = records.get('path') ?? longPath;
    return null;
  }

  function takeContent(bytes: Buffer): string | null {
    left -= bytes.length;
    if (kept === null) return null;
    kept.bytes.push(bytes);
    if (left > 0) return null;
    const { bytes: pieces, size, take } = kept;
    kept = null;
    return take(Buffer.concat(pieces).subarray(0, size).toString('utf8'));
  }

  return {
    add(chunk: Buffer): string | null {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (;;) {
        if (left > 0) {
          const part = bytes.subarray(0, left);
          bytes = bytes.subarray(part.length);
          const fault = takeContent(part);
          if (fault !== null) return fault;
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
      return { ok: true, facts: { manifest, bundled, hasShrinkwrap, hasGyp } };
    },
  };
}

function blocksOf(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}

/** The records of a pax header (POSIX.1-2001): each is its own length, a blank, a key, `=` and a value. */
function extendedRecords(text: string): Map<string, string> {
  const records = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, length, key, value] = /^(\d{1,6}) ([^=]+)=(.*)$/.exec(line) ?? [];
    // Like npm, ignores a record whose length is wrong.
    if (key === undefined || value === undefined || Number(length) !== Buffer.byteLength(line) + 1) continue;
    records.set(key, value);
  }
  return records;
}

function pathOf(header: Buffer): string {
  const isUstar = header.toString('latin1', 257, 262) === 'ustar';
  const prefix = isUstar ? textAt(header, 345, 155) : '';
  return prefix === '' ? textAt(header, 0, 100) : `${prefix}/${textAt(header, 0, 100)}`;
}

/** Octal only: sizes in the binary form exceed every limit here. */
function sizeOf(header: Buffer): number | null {
  const text = textAt(header, 124, 12).trim();
  return /^[0-7]{1,11}$/.test(text) ? Number.parseInt(text, 8) : null;
}

function textAt(header: Buffer, at: number, length: number): string {
  const end = header.indexOf(0, at);
  return header.toString('utf8', at, end === -1 || end > at + length ? at + length : end);
}
