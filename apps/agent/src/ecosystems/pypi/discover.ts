import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../file-layer.ts';

export const ENVIRONMENT_FILE = 'pyvenv.cfg';
/** Most places that are taken from one host. */
export const PLACES_MAX = 256;
/** Most folders that are looked into. */
export const FOLDERS_MAX = 20_000;
/** Most folders that are named as not looked into. */
const UNSEEN_MAX = 16;

/** Where environments usually are, with how many levels below are looked at. */
const SERVICE_FOLDERS = [
  { path: 'opt', levels: 3 },
  { path: 'srv', levels: 3 },
  { path: 'var/lib', levels: 3 },
];
const HOME_FOLDERS = [
  { path: '.', levels: 2 },
  { path: '.virtualenvs', levels: 1 },
  { path: 'venvs', levels: 1 },
  { path: '.local/share/pipx/venvs', levels: 1 },
];
/** The files of containers and machines are not of this host, and these folders are large. */
const SKIPPED = new Set([
  ...['docker', 'containers', 'containerd', 'lxc', 'lxd', 'machines', 'snapd', 'flatpak'],
  ...['node_modules', '.cache', '.git', 'apt', 'dpkg', 'rpm'],
]);

export interface Discovery {
  environments: string[];
  /** `…/.local/lib/python3.X/site-packages`, by the home they are in. */
  userFolders: string[];
  /** A limit that was reached: there are places that were not taken. */
  faults: string[];
  unseen: string[];
}

/** Looks for virtual environments and users' own packages in the usual places. Links are not followed. */
export async function discoverPlaces(root = '/'): Promise<Discovery> {
  const environments = new Set<string>();
  const userFolders: string[] = [];
  const unseen: string[] = [];
  let looked = 0;

  async function list(path: string) {
    if (looked >= FOLDERS_MAX || environments.size + userFolders.length > PLACES_MAX) return [];
    looked += 1;
    try {
      return (await readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) unseen.push(path);
      return [];
    }
  }

  async function search(path: string, levels: number): Promise<void> {
    const entries = await list(path);
    if (entries.some((entry) => entry.name === ENVIRONMENT_FILE && entry.isFile())) {
      environments.add(path);
      return;
    }
    if (levels === 0) return;
    for (const entry of entries) {
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) await search(join(path, entry.name), levels - 1);
    }
  }

  for (const { path, levels } of SERVICE_FOLDERS) await search(join(root, path), levels);
  for (const home of await list(join(root, 'home'))) {
    if (!home.isDirectory()) continue;
    const folder = join(root, 'home', home.name);
    for (const { path, levels } of HOME_FOLDERS) await search(join(folder, path), levels);
    const lib = join(folder, '.local/lib');
    for (const python of await list(lib)) {
      if (!python.isDirectory() || !/^python3\.[0-9]{1,3}$/.test(python.name)) continue;
      const inside = await list(join(lib, python.name));
      if (inside.some((entry) => entry.name === 'site-packages' && entry.isDirectory())) {
        userFolders.push(join(lib, python.name, 'site-packages'));
      }
    }
  }
  const tooMany = environments.size + userFolders.length > PLACES_MAX;
  if (looked >= FOLDERS_MAX) unseen.unshift(`what comes after the first ${FOLDERS_MAX} folders`);
  return {
    environments: [...environments].slice(0, PLACES_MAX),
    userFolders,
    faults: tooMany ? [`there are over ${PLACES_MAX} places with Python packages`] : [],
    unseen: [...new Set(unseen)].slice(0, UNSEEN_MAX),
  };
}
