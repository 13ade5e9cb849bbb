import { constants } from 'node:fs';
import { lchown, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Identity, runProgram } from '../platform/run-program.ts';

/** Enough to remove a large tree on a slow disk. */
const REMOVE_TIMEOUT_MS = 15 * 60_000;
const LOOK = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Gives a folder of this process to another user: contents first, the folder last, so that nothing can be
 * replaced meanwhile. This process keeps the parent folder, or the folder itself could be replaced. Does nothing
 * without another user.
 */
export async function transferFolder(folder: string, identity: Identity | null): Promise<void> {
  if (identity === null) return;
  for (const name of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, name), identity.uid, identity.gid);
  }
  await lchown(folder, identity.uid, identity.gid);
}

/**
 * Takes a folder back: first the folder, so that nobody else can create names in it, then its regular files
 * through their descriptors. Other files and hard links keep their owner: they may be any file of the host.
 */
export async function reclaimFolder(folder: string): Promise<void> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  await lchown(folder, uid, gid);
  for (const name of await readdir(folder)) {
    const file = await open(join(folder, name), LOOK).catch(() => null);
    if (file === null) continue;
    try {
      const stat = await file.stat();
      if (stat.isFile() && stat.nlink === 1) await file.chown(uid, gid);
    } finally {
      await file.close();
    }
  }
}

/**
 * Removes folders that another user may change meanwhile: with rm(1), which follows no links, and as that user,
 * who could remove them anyway.
 */
export async function removeAsUser(identity: Identity | null, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const limits = {
    timeoutMs: REMOVE_TIMEOUT_MS,
    maxOutputBytes: 64 * 1024,
    onOverflow: 'keep_tail' as const,
  };
  await runProgram({ program: 'rm', args: ['-rf', '--', ...paths], identity, ...limits });
}
