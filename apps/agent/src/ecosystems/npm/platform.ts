import { readdir } from 'node:fs/promises';
import type { Platform } from './reachable-rules.ts';

/** This host in the terms of package.json: os, cpu and libc. */
export async function readPlatform(): Promise<Platform> {
  const { platform: os, arch: cpu } = process;
  return { os, cpu, libc: os === 'linux' ? await readLibc() : null };
}

/** Detected by the dynamic loader; a host with both is glibc with musl added. */
async function readLibc(): Promise<string> {
  const names = (
    await Promise.all(['/lib', '/lib64'].map((folder) => readdir(folder).catch(() => [])))
  ).flat();
  const hasGlibc = names.some((name) => name.startsWith('ld-linux') || name.endsWith('-linux-gnu'));
  return !hasGlibc && names.some((name) => name.startsWith('ld-musl-')) ? 'musl' : 'glibc';
}
