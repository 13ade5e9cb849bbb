import { lstat, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HostPaths } from '../ecosystem.ts';
import { type Discovery, discoverPlaces, ENVIRONMENT_FILE } from './discover.ts';
import { parseEnvironmentFile } from './parse-metadata.ts';
import { type Parsed, readPlainFile } from './read-file.ts';

const CONFIGURATION_MAX_BYTES = 64 * 1024;
/** Longest path that the wire takes as `arch`, in characters. */
const PLACE_MAX_CHARS = 256;
const PYTHON_FOLDER = /^(?:python|pypy)3\.[0-9]{1,3}t?$/;

/** A folder that holds Python packages of its own (decision 0009: it stands in `arch`). */
export interface PypiPlace {
  kind: 'environment' | 'user';
  /** The virtual environment; of a user's own packages the folder that they lie in, as there is one for each Python. */
  path: string;
  sitePackages: string;
  /** Of the interpreter: `3.11.2`, or `3.11`. */
  pythonVersion: string;
  /** It sees the system's packages too. */
  usesSystemPackages: boolean;
}

export interface FoundPlaces {
  places: PypiPlace[];
  /** Places that are there and cannot be read: they keep a scan from being complete. */
  faults: string[];
  /** Folders that could not be looked into: nothing tells whether there is a place in them. */
  unseen: string[];
}

/** The environments that the administrator named, and what is found in the usual places of the host. */
export async function findPlaces(paths: HostPaths, discovered?: Discovery): Promise<FoundPlaces> {
  const found = discovered ?? (await discoverPlaces());
  const places: PypiPlace[] = [];
  const faults = [...found.faults];
  const environments = new Set([...paths.pypi.environments, ...found.environments]);
  for (const path of [...environments].sort()) {
    const place = await readEnvironment(path);
    if (place.ok) places.push(place.value);
    else faults.push(place.reason);
  }
  for (const path of found.userFolders) {
    const place = readUserFolder(path);
    if (place.ok) places.push(place.value);
    else faults.push(place.reason);
  }
  return { places, faults, unseen: found.unseen };
}

/** Reads what an environment is, from its files alone: nothing in it is run. */
export async function readEnvironment(path: string): Promise<Parsed<PypiPlace>> {
  if (path.length > PLACE_MAX_CHARS) return { ok: false, reason: `${path} is too long a path` };
  const real = await realpath(path).catch(() => null);
  if (real === null) return { ok: false, reason: `${path} cannot be read` };
  if (real !== path)
    return { ok: false, reason: `${path} is reached through a link; its own path is ${real}` };
  const file = join(path, ENVIRONMENT_FILE);
  const read = await readPlainFile(file, CONFIGURATION_MAX_BYTES);
  if (!read.ok) return { ok: false, reason: read.reason };
  const said = parseEnvironmentFile(read.text);
  if (!said.ok) return { ok: false, reason: `${file} ${said.reason}` };
  const [major, minor] = said.value.pythonVersion.split('.');
  const lib = join(path, 'lib');
  const names = (await readdir(lib).catch(() => [])).filter((name) => PYTHON_FOLDER.test(name));
  const suited = names.filter(
    (name) => name.replace(/^[a-z]+/, '').replace(/t$/, '') === `${major}.${minor}`,
  );
  const [folder, ...others] = suited;
  if (folder === undefined || others.length > 0) {
    return { ok: false, reason: `${lib} does not hold the packages of Python ${major}.${minor}` };
  }
  const sitePackages = join(lib, folder, 'site-packages');
  const stat = await lstat(sitePackages).catch(() => null);
  if (!stat?.isDirectory()) return { ok: false, reason: `${sitePackages} is not a folder that can be read` };
  return { ok: true, value: { kind: 'environment', path, sitePackages, ...said.value } };
}

function readUserFolder(sitePackages: string): Parsed<PypiPlace> {
  const [, pythonVersion] = /\/python(3\.[0-9]{1,3})\/site-packages$/.exec(sitePackages) ?? [];
  if (pythonVersion === undefined || sitePackages.length > PLACE_MAX_CHARS) {
    return { ok: false, reason: `${sitePackages} is not a folder of packages` };
  }
  const place = { kind: 'user' as const, path: sitePackages, sitePackages };
  return { ok: true, value: { ...place, pythonVersion, usesSystemPackages: true } };
}

/**
 * Whether somebody else manages the place, as PEP 668 has it said: then nothing is changed there. A marker in an
 * environment counts as well, although pip looks for it with the interpreter alone.
 */
export async function isExternallyManaged(place: PypiPlace, stdlibOf = systemStdlib): Promise<boolean> {
  const folders = [dirname(place.sitePackages), ...(place.kind === 'user' ? [stdlibOf(place)] : [])];
  for (const folder of folders) {
    if ((await lstat(join(folder, 'EXTERNALLY-MANAGED')).catch(() => null)) !== null) return true;
  }
  return false;
}

function systemStdlib({ pythonVersion }: PypiPlace): string {
  return join('/usr/lib', `python${pythonVersion.split('.').slice(0, 2).join('.')}`);
}
