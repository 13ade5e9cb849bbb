import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** systemd.unit(5): where packages and administrators put units. */
const FOLDERS = [
  ...['etc/systemd/system', 'usr/local/lib/systemd/system'],
  ...['usr/lib/systemd/system', 'lib/systemd/system'],
];

/** Whether this host was booted with systemd and has a file of this unit. */
export function hasUnit(name: string, root = '/'): boolean {
  if (!existsSync(join(root, 'run/systemd/system'))) return false;
  return FOLDERS.some((folder) => existsSync(join(root, folder, name)));
}
