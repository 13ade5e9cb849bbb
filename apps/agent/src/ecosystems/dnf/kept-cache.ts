import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder where a user caches repository metadata between scans; null when it cannot be trusted. Root caches
 * nothing: the user it drops to may be shared. The name is predictable, so the folder is used only when the user
 * owns it and nobody else can open it.
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
