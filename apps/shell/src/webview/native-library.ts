import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * The native file of @webviewjs/webview 0.4.7 asks for glibc 2.39 for two weak symbols alone, which it can do without:
 * the loader refuses it on Debian 12 (2.36) all the same. Marking that version reference weak (VER_FLG_WEAK of
 * vna_flags, one byte) is what the linker would have done. It is done to a copy, and only to this very file.
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
  /** The package's own file is right as it is. */
  | { readonly kind: 'as-is' }
  /** What NAPI_RS_NATIVE_LIBRARY_PATH has to name. */
  | { readonly kind: 'copy'; readonly path: string }
  | { readonly kind: 'unknown'; readonly detail: string };

/** Finds the file that this system can load; `glibc` is null where there is none. */
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
      detail: 'The webview library is not the file that was examined; nothing is changed in it.',
    };
  return { kind: 'copy', path: weakCopy(bytes, system.cacheFolder) };
}

/** Named by its hash and read again before it is used: what somebody else left in the cache is written anew. */
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
