import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Tells boots apart (random(4)); where the system has no such id, each start of the agent counts as one. `root` is `/`
 * except in tests.
 */
export function readBootId(root = '/'): string {
  if (process.platform !== 'linux') return randomUUID();
  return readFileSync(join(root, 'proc/sys/kernel/random/boot_id'), 'utf8').trim();
}
