import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 64 * 1024;
/** Most that is read of a pipe. */
const READ_MAX_BYTES = 256 * 1024 * 1024;

/**
 * The last lines of a file or a pipe, in at most `maxBytes`; the first of them is whole. `-` is the standard input: after a
 * change of user its path can no longer be opened. @throws when it cannot be read.
 */
export function readTail(path: string, { lines, maxBytes }: { lines: number; maxBytes: number }): string {
  const fd = path === '-' ? 0 : openSync(path, 'r');
  try {
    const stat = fstatSync(fd);
    let at = stat.isFile() ? Math.max(0, stat.size - maxBytes - 1) : null;
    let tail: Buffer = Buffer.alloc(0);
    let isCut = at !== null && at > 0;
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let total = 0; total < READ_MAX_BYTES; ) {
      const read = readSync(fd, chunk, 0, chunk.length, at);
      if (read === 0) break;
      total += read;
      if (at !== null) at += read;
      tail = Buffer.concat([tail, chunk.subarray(0, read)]);
      if (tail.length > maxBytes) {
        tail = tail.subarray(-maxBytes);
        isCut = true;
      }
    }
    const all = tail.toString('utf8').split('\n');
    return (isCut ? all.slice(1) : all).slice(-lines - 1).join('\n');
  } finally {
    if (fd !== 0) closeSync(fd);
  }
}
