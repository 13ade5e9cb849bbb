import { readdir } from 'node:fs/promises';
import type { Platform } from './reachable-rules.ts';

/** This host as packages name it. */
export async function readPlatform(): Promise<Platform> {
  const { platform: os, arch: cpu } = process;
  return { os, cpu, libc: os === 'linux' ? await readLibc() : null };
}

/** By its dynamic loader; a host that has both is a glibc one with musl beside it. */
async function readLibc(): Promise<string> {
  const names = (
    await Promise.all(['/lib', '/lib64'].map((folder) => readdir(folder).catch(() => [])))
  ).flat();
  const hasGlibc = names.some((name) => name.startsWith('ld-linux') || name.endsWith('-linux-gnu'));
  return !hasGlibc && names.some((name) => name.startsWith('ld-musl-')) ? 'musl' : 'glibc';
}
