import { createPublicKey } from 'node:crypto';
import { KeyError, loadTrustedKey, type TrustedKey, verifyDetached } from './verify.ts';

/** The checksums of a release, and their signature by the release key. */
export const SUMS_FILE = 'SHA256SUMS';
export const SIGNATURE_FILE = 'SHA256SUMS.sig';
/** Largest of each that is read. */
export const SUMS_MAX_BYTES = 1024 * 1024;
export const SIGNATURE_MAX_BYTES = 64;
const FILES_MAX = 10_000;

/** A line as `sha256sum` writes it: 64 hex digits, two spaces and a path below the folder. */
const LINE = /^([0-9a-f]{64}) {2}((?:[A-Za-z0-9][\w.+~-]{0,200}\/){0,8}[A-Za-z0-9][\w.+~-]{0,200})$/;

/** SHA-256 in lower case by the path of the file. */
export type ReleaseFiles = ReadonlyMap<string, string>;

export type ReleaseVerdict =
  | { ok: true; files: ReleaseFiles }
  | { ok: false; reason: 'bad_signature' | 'malformed' };

/**
 * Verifies the checksums of a release by its detached Ed25519 signature, and reads the very bytes that were signed.
 * `malformed`: signed, but not lines of `sha256sum`, or a path twice. Never throws. The caller caps the sizes.
 */
export function verifyRelease(
  key: TrustedKey,
  { sums, signature }: { sums: Uint8Array; signature: Uint8Array },
): ReleaseVerdict {
  if (!verifyDetached(key, sums, signature)) return { ok: false, reason: 'bad_signature' };
  const files = parseSums(sums);
  return files === null ? { ok: false, reason: 'malformed' } : { ok: true, files };
}

/**
 * The lines of a SHA256SUMS. Null unless each is one of `sha256sum` with its end, names another file below the folder, and
 * each once; 10,000 at most. No segment of a path begins with a dot, so that none leads out of the folder.
 */
export function parseSums(bytes: Uint8Array): ReleaseFiles | null {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  if (lines.pop() !== '' || lines.length === 0 || lines.length > FILES_MAX) return null;
  const files = new Map<string, string>();
  for (const line of lines) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    const isOwn = path === SUMS_FILE || path === SIGNATURE_FILE;
    if (sha256 === undefined || path === undefined || isOwn || files.has(path)) return null;
    files.set(path, sha256);
  }
  return files;
}

/**
 * The release key from SubjectPublicKeyInfo in PEM (RFC 8410), as `keys release make` prints it. Throws `KeyError`:
 * `malformed` for anything but one Ed25519 public key, `weak` as `loadTrustedKey`.
 */
export function loadReleaseKey(pem: string): TrustedKey {
  const publicKeyHex = rawKeyOf(pem);
  if (publicKeyHex === null)
    throw new KeyError('malformed', 'The release key is no Ed25519 public key in PEM');
  return loadTrustedKey({ keyId: 'release', publicKeyHex });
}

function rawKeyOf(pem: string): string | null {
  // Node also derives the public half of a private key, which has no place on a host.
  if (!/^-----BEGIN PUBLIC KEY-----\r?\n[A-Za-z0-9+/=\r\n]+-----END PUBLIC KEY-----\s*$/.test(pem))
    return null;
  try {
    const key = createPublicKey({ key: pem, format: 'pem' });
    if (key.asymmetricKeyType !== 'ed25519') return null;
    const { x } = key.export({ format: 'jwk' });
    return x === undefined ? null : Buffer.from(x, 'base64url').toString('hex');
  } catch {
    return null;
  }
}
