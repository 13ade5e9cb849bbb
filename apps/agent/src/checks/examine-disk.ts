import { existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { doubtful, type Finding, faulty, sound } from './finding.ts';

const MIB = 1024 * 1024;
/** Less than this holds neither the files of an ordinary update nor a journal that can still be written. */
const FAIL_BYTES = 100 * MIB;
/** Less than this is too little for a large update, whose files are stored twice: by the agent and by root. */
const WARN_BYTES = 1024 * MIB;

/** One finding for the file system with the least space of those that hold the folders; they need not exist yet. */
export function examineDisk(
  folders: readonly string[],
  freeBytesAt: (path: string) => number = freeBytes,
): Finding {
  const spaces = folders.map((folder) => ({ folder, free: freeBytesAt(existing(folder)) }));
  const [least] = spaces.sort((a, b) => a.free - b.free);
  const check = 'disk space';
  if (least === undefined) return sound(check, 'nothing is stored here');
  const detail = `${Math.floor(least.free / MIB)} MiB free for ${least.folder}`;
  if (least.free < FAIL_BYTES)
    return faulty(check, `${detail}: make room, or nothing can be downloaded and kept`);
  if (least.free < WARN_BYTES) return doubtful(check, `${detail}: make room, or large updates are refused`);
  return sound(check, detail);
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** The folder, or the nearest one above it that exists. */
function existing(folder: string): string {
  const path = resolve(folder);
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}
