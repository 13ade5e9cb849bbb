import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Identity } from '../platform/run-program.ts';
import type { FetchOutcome } from './ecosystem.ts';
import { removeAsUser } from './folder-ownership.ts';

/** Maximum download of one apt, dnf or PyPI plan, in bytes. */
export const FETCH_MAX_BYTES = 16 * 1024 ** 3;

/** A file as a plan names it. */
export interface DownloadedFile {
  name: string;
  arch: string;
  version: string;
  filename: string;
  sizeBytes: number;
  sha256: string;
}

/** The files of the actions, if every file can be named and all of them fit into the destination. */
export async function expectFiles({
  actions,
  directory,
  expectedFile,
}: {
  actions: readonly PlanAction[];
  directory: string;
  /** Null when an action has no file that its ecosystem can use. */
  expectedFile: (action: PlanAction) => DownloadedFile | null;
}): Promise<{ ok: true; files: DownloadedFile[] } | { ok: false; reason: string }> {
  const files: DownloadedFile[] = [];
  for (const action of actions) {
    const file = expectedFile(action);
    if (file === null) return { ok: false, reason: `artifact_mismatch: ${action.name}` };
    files.push(file);
  }
  if (files.length === 0) return { ok: true, files };
  const sizes = files.map(({ sizeBytes }) => sizeBytes);
  const lack = await findLackOfSpace({ sizes, directory, maxBytes: FETCH_MAX_BYTES });
  return lack === null ? { ok: true, files } : { ok: false, reason: lack };
}

/** Why files of these sizes are not fetched; null when they fit the limit and the destination. */
export async function findLackOfSpace({
  sizes,
  directory,
  maxBytes,
}: {
  sizes: readonly number[];
  directory: string;
  maxBytes: number;
}): Promise<string | null> {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > maxBytes) return `the plan would fetch ${total} bytes, more than ${maxBytes}`;
  const { bavail, bsize } = await statfs(directory);
  return total > bavail * bsize ? `the plan needs ${total} bytes where ${bavail * bsize} are free` : null;
}

/** Root downloads as the package manager's own user or, without one, as nobody; other users as themselves. */
export async function downloadIdentity(sandboxUser: string | null): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === sandboxUser) ?? users.find(([name]) => name === 'nobody');
  const [uid, gid] = [Number(user?.[2] ?? 65_534), Number(user?.[3] ?? 65_534)];
  return uid > 0 ? { uid, gid } : { uid: 65_534, gid: 65_534 };
}

/** Keeps exactly the plan's files, each a regular file with its size and SHA-256, or names the first mismatch. */
export async function checkFiles(
  directory: string,
  expected: readonly DownloadedFile[],
): Promise<FetchOutcome> {
  const wanted = new Set(expected.map(({ filename }) => filename));
  for (const name of await readdir(directory)) {
    if (!wanted.has(name)) await removeAsUser(null, [join(directory, name)]);
  }
  for (const file of expected) {
    if (await isIntact(join(directory, file.filename), file)) continue;
    await removeAsUser(null, [join(directory, file.filename)]);
    return { ok: false, reason: `artifact_mismatch: ${file.name}` };
  }
  return { ok: true };
}

/** Whether this is a regular file with this size and hash; links are not followed. */
async function isIntact(path: string, { sizeBytes, sha256 }: DownloadedFile): Promise<boolean> {
  const entry = await lstat(path).catch(() => null);
  if (!entry?.isFile() || entry.nlink !== 1 || entry.size !== sizeBytes) return false;
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const hash = createHash('sha256');
    for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk);
    return hash.digest('hex') === sha256;
  } finally {
    await handle.close();
  }
}
