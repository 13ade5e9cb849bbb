import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/file-layer.ts';

export const ENVIRONMENT_FILE = 'pyvenv.cfg';
/** Maximum number of places on one host. */
export const PLACES_MAX = 256;
/** Maximum number of folders searched. */
const FOLDERS_MAX = 20_000;
/** Maximum number of unsearched folders reported. */
const UNSEEN_MAX = 16;

/** The usual folders of environments, with the depth to search. */
const SERVICE_FOLDERS = [
  { path: 'opt', levels: 3, isReported: true },
  { path: 'srv', levels: 3, isReported: true },
  { path: 'var/lib', levels: 3, isReported: false }, // every host has private folders of other services there
];
const HOME_FOLDERS = [
  { path: '.', levels: 2 },
  { path: '.virtualenvs', levels: 1 },
  { path: 'venvs', levels: 1 },
  { path: '.local/share/pipx/venvs', levels: 1 },
];
/** Files of containers and virtual machines do not belong to this host, and these folders are large. */
const SKIPPED = new Set([
  ...['docker', 'containers', 'containerd', 'lxc', 'lxd', 'machines', 'snapd', 'flatpak'],
  ...['node_modules', '.cache', '.git', 'apt', 'dpkg', 'rpm'],
]);

export interface Discovery {
  environments: string[];
  /** `…/.local/lib/python3.X/site-packages`, by the home they are in. */
  userFolders: string[];
  /** A limit was reached: some places are missing. */
  faults: string[];
  unseen: string[];
}

/** Searches the usual folders for virtual environments and users' own packages. Links are not followed. */
export async function discoverPlaces(
  root = '/',
  { foldersMax = FOLDERS_MAX }: { foldersMax?: number } = {},
): Promise<Discovery> {
  const environments = new Set<string>();
  const userFolders: string[] = [];
  const unseen: string[] = [];
  let looked = 0;

  async function list(path: string, isReported = true) {
    if (looked >= foldersMax || environments.size + userFolders.length > PLACES_MAX) return [];
    looked += 1;
    try {
      return (await readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (isReported && !['ENOENT', 'ENOTDIR'].includes(errorCode(error))) unseen.push(path);
      return [];
    }
  }

  async function search(
    path: string,
    { levels, isReported }: { levels: number; isReported: boolean },
  ): Promise<void> {
    const entries = await list(path, isReported);
    if (entries.some((entry) => entry.name === ENVIRONMENT_FILE && entry.isFile())) {
      environments.add(path);
      return;
    }
    if (levels === 0) return;
    for (const entry of entries) {
      if (!entry.isDirectory() || SKIPPED.has(entry.name)) continue;
      await search(join(path, entry.name), { levels: levels - 1, isReported });
    }
  }

  /** A linked folder is searched only if its real path is. */
  async function isReal(path: string): Promise<boolean> {
    const real = await realpath(path).catch(() => path);
    if (real !== path) unseen.push(path);
    return real === path;
  }

  async function searchHome(home: string): Promise<void> {
    if ((await list(home, false)).length === 0) return; // empty or private: users may close their homes
    for (const { path, levels } of HOME_FOLDERS) {
      if (await isReal(join(home, path))) await search(join(home, path), { levels, isReported: false });
    }
    const lib = join(home, '.local/lib');
    for (const python of (await isReal(lib)) ? await list(lib) : []) {
      if (!python.isDirectory() || !/^python3\.[0-9]{1,3}$/.test(python.name)) continue;
      const inside = await list(join(lib, python.name));
      if (inside.some((entry) => entry.name === 'site-packages' && entry.isDirectory())) {
        userFolders.push(join(lib, python.name, 'site-packages'));
      }
    }
  }

  for (const { path, ...how } of SERVICE_FOLDERS) {
    if (await isReal(join(root, path))) await search(join(root, path), how);
  }
  const homes = join(root, 'home');
  for (const home of (await isReal(homes)) ? await list(homes) : []) {
    if (home.isDirectory()) await searchHome(join(homes, home.name));
  }
  const tooMany = environments.size + userFolders.length > PLACES_MAX;
  if (looked >= foldersMax) unseen.unshift(`folders after the first ${foldersMax}`);
  return {
    environments: [...environments].slice(0, PLACES_MAX),
    userFolders,
    faults: tooMany ? [`there are over ${PLACES_MAX} places with Python packages`] : [],
    unseen: [...new Set(unseen)].slice(0, UNSEEN_MAX),
  };
}
