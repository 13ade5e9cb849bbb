import { readFile, stat } from 'node:fs/promises';

/** Whether another process holds a write lock on one of the files. It is looked up, not tried: nobody is disturbed. */
export async function isAnyLocked(paths: readonly string[]): Promise<boolean> {
  const locks = await readFile('/proc/locks', 'latin1').catch(() => '');
  for (const path of paths) {
    const inode = await stat(path).then(
      (file) => file.ino,
      () => null,
    );
    // Only the inode is compared: on stacked file systems the device differs.
    if (inode !== null && new RegExp(`^\\d+: POSIX .* WRITE .*:${inode} `, 'm').test(locks)) return true;
  }
  return false;
}
