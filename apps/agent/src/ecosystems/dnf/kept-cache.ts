import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder in which a user keeps what he fetched of the repositories, so that not every scan fetches it anew; null
 * where there is none to be trusted. Root keeps nothing: whoever it drops its rights to shares them with others. The
 * name can be foretold, so what stands there is used only where it is a folder of one's own, closed to everybody else.
 */
export async function openKeptCache({
  folder,
  root,
  uid,
}: {
  folder: string;
  root: string;
  uid: number;
}): Promise<string | null> {
  if (uid === 0) return null;
  const key = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const path = join(folder, `tidegate-dnf-cache-${uid}-${key}`);
  await mkdir(path, { mode: 0o700 }).catch(() => null);
  const found = await lstat(path).catch(() => null);
  const isOwn = found?.isDirectory() === true && found.uid === uid && (found.mode & 0o077) === 0;
  return isOwn ? path : null;
}
