import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** Files that pages link to: never the document itself, and never the manifest of the build. */
const SERVED = /^(assets\/\w[\w.-]*\.(js|css|woff2|svg|png)|[\w-]+\.svg)$/;
const DOCUMENT = 'index.html';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** How the build compresses, the best first, and what it adds to the name of a file. */
const ENCODINGS = [
  ['br', 'br'],
  ['gzip', 'gz'],
] as const;

/** A file of the console in memory. */
export interface Asset {
  type: string;
  /** Weak: the same for every encoding. */
  etag: string;
  plain: Buffer;
  /** The best first. */
  compressed: readonly { encoding: (typeof ENCODINGS)[number][0]; bytes: Buffer }[];
}

export interface Assets {
  document: Asset;
  /** Those beside the document, by URL path. */
  files: ReadonlyMap<string, Asset>;
}

/** The built console; null if none was built. */
export async function readAssets(folder: string): Promise<Assets | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );
  if (entries === null) return null;
  const paths = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')),
  );
  if (!paths.has(DOCUMENT)) return null;
  const read = async (path: string): Promise<Asset> => {
    const plain = await readFile(join(folder, path));
    const compressed: Asset['compressed'][number][] = [];
    for (const [encoding, suffix] of ENCODINGS) {
      const coded = `${path}.${suffix}`;
      if (paths.has(coded)) compressed.push({ encoding, bytes: await readFile(join(folder, coded)) });
    }
    const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`;
    return { type: TYPES[extname(path)] ?? 'application/octet-stream', etag, plain, compressed };
  };
  const files = new Map<string, Asset>();
  for (const path of paths) if (SERVED.test(path)) files.set(path, await read(path));
  return { document: await read(DOCUMENT), files };
}
