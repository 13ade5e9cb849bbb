import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The system calls of a durable write, so that a test can let each of them fail or be the last. */
export interface FileLayer {
  open(path: string, flags: number, mode: number): number;
  write(fd: number, bytes: Uint8Array): number;
  fsync(fd: number): void;
  chmod(fd: number, mode: number): void;
  close(fd: number): void;
  rename(from: string, to: string): void;
  unlink(path: string): void;
}

export const realFiles: FileLayer = {
  open: openSync,
  write: (fd, bytes) => writeSync(fd, bytes),
  fsync: fsyncSync,
  chmod: fchmodSync,
  close: closeSync,
  rename: renameSync,
  unlink: unlinkSync,
};

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/**
 * Writes a file whole or not at all: temporary file beside it, fsync, rename, fsync of the folder. After it
 * returns, the bytes survive a power cut; when it throws, the file has the old content (or, after the rename, the
 * new one). A failed fsync is never retried: the disk content is unknown then.
 */
export function writeDurably(
  path: string,
  bytes: Uint8Array,
  options: { mode: number; files?: FileLayer },
): void {
  const files = options.files ?? realFiles;
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const fd = files.open(temporary, CREATE_NEW, options.mode);
  let renamed = false;
  try {
    try {
      files.chmod(fd, options.mode); // the umask may have taken bits away
      for (let at = 0; at < bytes.length; ) at += files.write(fd, bytes.subarray(at));
      files.fsync(fd);
    } finally {
      files.close(fd);
    }
    files.rename(temporary, path);
    renamed = true;
  } finally {
    if (!renamed) discard(temporary, files);
  }
  syncFolder(dirname(path), files);
}

/** Removes the temporary file of a process killed in `writeDurably`; the caller must be the only writer. */
export function removeTemporaries(path: string): void {
  const start = `.${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const isOurs = name.startsWith(start) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(start.length));
    if (isOurs) rmSync(join(dirname(path), name), { force: true });
  }
}

/** Makes created, renamed and removed names in a folder durable. Windows has no such call. */
export function syncFolder(folder: string, files: FileLayer = realFiles): void {
  if (process.platform === 'win32') return;
  const fd = files.open(folder, constants.O_RDONLY, 0);
  try {
    files.fsync(fd);
  } finally {
    files.close(fd);
  }
}

function discard(path: string, files: FileLayer): void {
  try {
    files.unlink(path);
  } catch {
    // The write has failed already and its error is the one to report; a stray temporary file is never read.
  }
}

export type ReadOutcome =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; reason: 'absent' | 'unreadable' | 'unsafe' | 'too_large'; detail: string };

/** The owner and mode required of a trusted file. */
export interface FileTrust {
  maxBytes: number;
  /** The owner the file must have; null where the platform has no owners. */
  ownerUid: number | null;
  /** Permission bits that must not be set, such as 0o077 for a secret and 0o022 for a public file. */
  forbiddenMode: number;
}

/**
 * Reads a regular file through one descriptor, without following a link in its last name, and refuses it when its owner
 * or mode would let somebody else have written (or, for a secret, read) it.
 */
export function readTrusted(path: string, trust: FileTrust): ReadOutcome {
  return withTrusted(path, trust, (fd, size) => {
    if (size > trust.maxBytes) {
      return { ok: false, reason: 'too_large', detail: `${path} is larger than ${trust.maxBytes} bytes` };
    }
    return { ok: true, bytes: readUpTo(fd, { from: 0, maxBytes: Math.min(trust.maxBytes, size + 1) }) };
  });
}

/** The same for a part of a file that still grows: what follows `from` by now, `maxBytes` of it at most. */
export function readTrustedPart(path: string, from: number, trust: FileTrust): ReadOutcome {
  return withTrusted(path, trust, (fd, size) => {
    const maxBytes = Math.min(trust.maxBytes, Math.max(0, size - from));
    return { ok: true, bytes: readUpTo(fd, { from, maxBytes }) };
  });
}

function withTrusted(
  path: string,
  trust: FileTrust,
  read: (fd: number, size: number) => ReadOutcome,
): ReadOutcome {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return { ok: false, reason: 'absent', detail: `${path} does not exist` };
    if (code === 'ELOOP') return { ok: false, reason: 'unsafe', detail: `${path} is a symbolic link` };
    return { ok: false, reason: 'unreadable', detail: `${path} cannot be read (${code})` };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { ok: false, reason: 'unsafe', detail: `${path} is not a regular file` };
    if (trust.ownerUid !== null && stat.uid !== trust.ownerUid) {
      return {
        ok: false,
        reason: 'unsafe',
        detail: `${path} belongs to user ${stat.uid}, not to ${trust.ownerUid}`,
      };
    }
    if (trust.ownerUid !== null && (stat.mode & trust.forbiddenMode) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
      return { ok: false, reason: 'unsafe', detail: `${path} has mode ${mode}, which lets others use it` };
    }
    return read(fd, stat.size);
  } catch (error) {
    return { ok: false, reason: 'unreadable', detail: `${path} cannot be read (${errorCode(error)})` };
  } finally {
    closeSync(fd);
  }
}

function readUpTo(fd: number, { from, maxBytes }: { from: number; maxBytes: number }): Uint8Array {
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  while (length < bytes.length) {
    const count = readSync(fd, bytes, length, bytes.length - length, from + length);
    if (count === 0) break;
    length += count;
  }
  return bytes.subarray(0, length);
}

/** The system's code of an error (`ENOENT`), else its message. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}

/** The user that owns what this process writes; null on Windows. */
export function ownUid(): number | null {
  return process.geteuid?.() ?? null;
}
