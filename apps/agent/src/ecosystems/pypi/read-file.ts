import { open } from 'node:fs/promises';
import { errorCode } from '../../platform/file-layer.ts';
import { READ_UNFOLLOWED } from '../judge-artifact.ts';

/** The result of reading an untrusted file: complete or a reason. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

export type FileText = { ok: true; text: string } | { ok: false; absent: boolean; reason: string };

/** Reads a regular file of at most `maxBytes` from another user's folder; refuses links, pipes and larger files. */
export async function readPlainFile(path: string, maxBytes: number): Promise<FileText> {
  const opened = await open(path, READ_UNFOLLOWED).then(
    (handle) => ({ ok: true as const, handle }),
    (error: unknown) => ({ ok: false as const, code: errorCode(error) }),
  );
  if (!opened.ok) {
    const absent = opened.code === 'ENOENT' || opened.code === 'ENOTDIR';
    return { ok: false, absent, reason: `${path} cannot be read (${opened.code})` };
  }
  const { handle } = opened;
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return { ok: false, absent: false, reason: `${path} is not a plain file` };
    const bytes = Buffer.alloc(Math.min(stat.size, maxBytes) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
      if (length === bytes.length) break;
    }
    if (length > maxBytes) return { ok: false, absent: false, reason: `${path} is over ${maxBytes} bytes` };
    return { ok: true, text: bytes.toString('utf8', 0, length) };
  } catch (error) {
    return { ok: false, absent: false, reason: `${path} cannot be read (${errorCode(error)})` };
  } finally {
    await handle.close();
  }
}
