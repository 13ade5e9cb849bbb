import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * The native file of @webviewjs/webview 0.4.7 requires glibc 2.39 only for two weak symbols that it can do without, but
 * the loader refuses it on Debian 12 (2.36). Marking that version reference weak (VER_FLG_WEAK of vna_flags, one byte)
 * is what the linker should have done. The change is made to a copy, and only of this exact file.
 */
const KNOWN = {
  package: '@webviewjs/webview-linux-x64-gnu/webview.linux-x64-gnu.node',
  sha256: 'a2f3714b44b47e50b77f72c2a6a326926c02f29ab0affd46f0df979d9b2b1002',
  offset: 15_980,
  byte: 0x02,
  patchedSha256: '9a008ecbc262508b6ab1d2da031988733b11b722e8ffad902c9110e17cc5134d',
} as const;

const NEEDED_GLIBC = [2, 39] as const;

export type NativeLibrary =
  /** The package's own file works. */
  | { readonly kind: 'as-is' }
  /** The path for NAPI_RS_NATIVE_LIBRARY_PATH. */
  | { readonly kind: 'copy'; readonly path: string }
  | { readonly kind: 'unknown'; readonly detail: string };

/** Finds the file that this system can load; `glibc` is null on systems without it. */
export function findNativeLibrary(system: {
  platform: string;
  arch: string;
  glibc: string | null;
  cacheFolder: string;
}): NativeLibrary {
  if (system.platform !== 'linux' || system.glibc === null || !isOlder(system.glibc))
    return { kind: 'as-is' };
  if (system.arch !== 'x64')
    return {
      kind: 'unknown',
      detail: `The webview library needs glibc 2.39 on ${system.arch}, and this system has ${system.glibc}.`,
    };
  const bytes = readFileSync(createRequire(import.meta.url).resolve(KNOWN.package));
  if (sha256(bytes) !== KNOWN.sha256)
    return {
      kind: 'unknown',
      detail:
        'The webview library is not the expected file, so it is not patched for the older glibc of this system.',
    };
  return { kind: 'copy', path: weakCopy(bytes, system.cacheFolder) };
}

/** Named by its hash and verified before use: anything else in the cache is replaced. */
function weakCopy(original: Buffer, cacheFolder: string): string {
  const path = join(cacheFolder, `webview-${KNOWN.patchedSha256}.node`);
  if (hashOf(path) === KNOWN.patchedSha256) return path;
  const patched = Buffer.from(original);
  patched[KNOWN.offset] = KNOWN.byte;
  if (sha256(patched) !== KNOWN.patchedSha256)
    throw new Error('the copy of the webview library is not as expected');
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, patched, { mode: 0o600, flag: 'wx' });
  chmodSync(temporary, 0o500);
  renameSync(temporary, path);
  return path;
}

function hashOf(path: string): string | null {
  try {
    return sha256(readFileSync(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function isOlder(glibc: string): boolean {
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  return major < NEEDED_GLIBC[0] || (major === NEEDED_GLIBC[0] && minor < NEEDED_GLIBC[1]);
}
