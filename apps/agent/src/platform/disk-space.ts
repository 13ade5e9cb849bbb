import { statfsSync } from 'node:fs';

const MIB = 1_024 * 1_024;

/** What is lacking for so many bytes on the file system of a folder; null when they fit. */
export function lackOfSpace(folder: string, needBytes: number): string | null {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= needBytes) return null;
  return `needs ${mib(needBytes)} on the file system of ${folder}, which has ${mib(freeBytes)}`;
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
