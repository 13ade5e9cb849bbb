import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** systemd.unit(5): where packages and administrators put units. */
const FOLDERS = [
  ...['etc/systemd/system', 'usr/local/lib/systemd/system'],
  ...['usr/lib/systemd/system', 'lib/systemd/system'],
];

/** sd_booted(3). */
export function isBootedWithSystemd(root = '/'): boolean {
  return existsSync(join(root, 'run/systemd/system'));
}

/** Whether this host was booted with systemd and has a file of this unit. */
export function hasUnit(name: string, root = '/'): boolean {
  return isBootedWithSystemd(root) && FOLDERS.some((folder) => existsSync(join(root, folder, name)));
}
